"""How Slurm goes through the jobs that wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Passes:
    """Slurm's two passes over the jobs that wait; the numbers are those of a Slurm whose settings say nothing.

    At every event `n_first` jobs at most are looked at, and each partition waits for its first that cannot start; at
    whole multiples of `full_s` all are. At those of `interval_s`, never if that is infinite, `n_tested` at most may
    start beside what is held ahead for those before them: whole nodes, up to `window_s` ahead. Planned instants are
    whole multiples of `resolution_s` by a clock that shows `clock_s` at instant 0.
    """

    interval_s: float = 30.0
    full_s: float = 60.0
    resolution_s: float = 60.0
    window_s: float = 86_400.0
    n_first: int = 100
    n_tested: int = 500
    clock_s: float = 0.0


USUAL = Passes()
"""The passes of a Slurm whose settings say nothing."""
