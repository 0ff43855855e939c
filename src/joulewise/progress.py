"""How far long work is, as a study and a laboratory tell it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Runs to make, of which done and failed, runs that were there already, and what is being done now."""

    n_total: int
    n_done: int
    n_failed: int
    n_reused: int
    now: str = ""

    @property
    def kept(self) -> str:
        """How many of all runs are there and count, as far as it is known how many these are: "12 of 42"."""
        n_all = self.n_reused + self.n_total
        return f"{self.n_reused + self.n_done - self.n_failed:,} of {n_all:,}" if n_all else ""

    @property
    def doing(self) -> str:
        """What is being done, and what became of runs that a bar does not show."""
        counts = ((self.n_failed, "failed"), (self.n_reused, "were there already"))
        return "; ".join(filter(None, [self.now, *(f"{n:,} {words}" for n, words in counts if n)]))
