"""How far long work is, as a study and a laboratory tell it, and how to end it early."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from joulewise.errors import JoulewiseError, printable
from joulewise.units import count

_WHY_LENGTH = 60
"""A reason is cut there, so that all stays one line."""
_TOLD_EVERY_S = 0.2
"""How often a notebook is told how far work is."""


class Cancelled(JoulewiseError):  # noqa: N818 - it tells what happened, like KeyboardInterrupt
    """Long work was ended early, because it was asked to; what was finished is kept."""


class CancelToken:
    """Ends long work early: whoever has it may ask for that, from any thread, and the work looks at it now and then."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def cancel(self) -> None:
        """Ask the work to end."""
        self._asked.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the work was asked to end."""
        return self._asked.is_set()

    def raise_if_cancelled(self, left: str = "finished runs are kept, and the same call goes on from there") -> None:
        """Raise Cancelled where the work was asked to end, with what is left of it."""
        if self.is_cancelled:
            raise Cancelled(f"cancelled: {left}")


@dataclass(frozen=True)
class Progress:
    """Runs to make, of which done and failed, runs that were there already, and what is being done now.

    `runs_per_s` were done lately, and `n_workers` are there now; `why` the last one failed that did;
    `n_died` workers were lost, and `n_again` runs with them, which are done again. About `left_s` are left, if known.
    """

    n_total: int
    n_done: int
    n_failed: int
    n_reused: int
    now: str = ""
    runs_per_s: float = 0.0
    n_workers: int = 0
    why: str = ""
    n_died: int = 0
    n_again: int = 0
    left_s: float | None = None

    @property
    def kept(self) -> str:
        """How many of all runs are there and count, as far as it is known how many these are: "12 of 42"."""
        n_all = self.n_reused + self.n_total
        return f"{self.n_reused + self.n_done - self.n_failed:,} of {n_all:,}" if n_all else ""

    @property
    def is_over(self) -> bool:
        """Whether all runs were done."""
        return self.n_done >= self.n_total

    @property
    def line(self) -> str:
        """All of it as one line."""
        return "; ".join(filter(None, [f"{self.kept} runs are there" if self.kept else "", self.doing]))

    @property
    def doing(self) -> str:
        """What is being done, and what became of runs that a bar does not show."""
        why = f", lastly: {shorten(printable(self.why), _WHY_LENGTH, placeholder=' ...')}" if self.why else ""
        counts = ((self.n_failed, f"failed{why}"), (self.n_reused, "were there already"))
        told = (f"{n:,} {words}" for n, words in counts if n)
        return "; ".join(filter(None, [self.now, self._pace, self.losses, *told]))

    @property
    def losses(self) -> str:
        """How many workers died, and how many runs were lost with them, if any."""
        died = f"{count(self.n_died, 'worker')} died" if self.n_died else ""
        again = f"{count(self.n_again, 'run')} tried again" if self.n_again else ""
        return "; ".join(filter(None, [died, again]))

    @property
    def _pace(self) -> str:
        """How many runs a second several workers make."""
        if self.n_workers < 2 or not self.runs_per_s:
            return ""
        return f"{self.runs_per_s:.3g} runs/s by {self.n_workers:,} workers"


def usual_telling() -> Callable[[Progress], None]:
    """How progress is told where nobody says how: as a line in a notebook, and not at all in a script."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return _NotebookLine() if hasattr(shell, "kernel") else lambda _now: None


class _NotebookLine:
    """A line of plain text below the cell of a notebook, which changes as work goes on."""

    def __init__(self) -> None:
        self._line: Any = None
        self._told_at_s = -1.0

    def __call__(self, now: Progress) -> None:
        """Tell how far work is, unless that was told just now."""
        if time.monotonic() < self._told_at_s + _TOLD_EVERY_S and not now.is_over:
            return
        from IPython.display import display

        self._told_at_s, words = time.monotonic(), {"text/plain": now.line}
        if self._line is None:
            self._line = display(words, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._line.update(words, raw=True)
