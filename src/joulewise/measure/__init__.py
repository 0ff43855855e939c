"""The co-location laboratory: real programs alone and together, at each clock, and the tables that come of it.

Where to look, by the way of a measurement:

- `plan/`: `file` reads a plan, `plan`, `keys`, `table` and `problems` say what may stand in it; `programs`, `groups`
  and `schedule` make runs of it;
- `machine/`: what this machine is and offers (`machine`, `processor`, `control_groups`, `survey`), its clocks
  (`clocks`, `clock_policy`), where programs are pinned (`places`), and keeping it to ourselves (`quiet`, `holding`);
- `meters/`: `counters` (`perf_events`, `perf_stat`), `energy_log` (`rapl`, `power_command`, `power_csv`,
  `power_sensors`, `external`, `meters`), `heat`, `seen_clocks`, and `watch`, which reads all along;
- `bench/`: `bench` has the words; `laboratory` makes the runs in a `setting`, by `machine_bench`, `runner` and a
  `keeper` for each program (`times`); `bundled` are the kernels; `journal`, `store` and `observations` hold what was
  measured;
- `analysis/`: `analysis` and its tables (`slowdowns`, `additive`, `intensity`, `clock_scaling`, `powers`, `together`,
  `outliers`, `estimates`, `missing`); `claims`, `judging` and `published` hold it against the published claims;
  `export`, `grid` and `hosts` write tables for studies;
- `synthetic/`: a machine of which everything is known, behind the same door as a real one.

The names for users are those of the stub beside this module; each is loaded when it is first used.
"""

from joulewise._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
