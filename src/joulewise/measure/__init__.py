"""The co-location laboratory: real programs alone and together, at each clock, and the tables that come of it.

Where to look, by the way of a measurement:

- the plan: `plan_file` reads one, `plan`, `plan_keys`, `plan_table`, `plan_problems`, `synthetic_section` say what may
  stand in it; `programs`, `groups`, `places` and `schedule` make runs of it;
- the machine: `machine`, `processor`, `control_groups`, `clocks`, `clock_policy`, `seen_clocks`, `quiet`, `survey`;
- readings: `counters` (`perf_events`, `perf_stat`), `energy_log` (`rapl`, `power_command`, `power_csv`,
  `power_sensors`, `external`, `meters`), `heat`, and `watch`, which reads all along;
- running: `bench` has the words, `laboratory` makes the runs in a `setting`, one at a time (`holding`), by
  `machine_bench`, `runner` and a `keeper` for each program, or by `synthetic`; `bundled` are the kernels;
- what was measured: `journal`, `store`, `observations`;
- what follows: `analysis` and its tables (`slowdowns`, `additive`, `intensity`, `clock_scaling`, `powers`, `together`,
  `outliers`, `estimates`, `missing`); `claims`, `judging` and `published` hold it against chapter 8;
- for studies: `export`, `grid`, `hosts`.
"""
