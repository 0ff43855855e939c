"""The process of one order: it runs the study, says how far it is, and notes how that ended."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from joulewise.errors import InputError, JoulewiseError, printable
from joulewise.progress import Cancelled, CancelToken, Progress
from joulewise.serve.run.orders import Order, State
from joulewise.units import noun

if TYPE_CHECKING:
    from joulewise.study import Results

ALLOW_CODE = "--allow-code"
"""The argument with which the process runs Python that a study names."""

_TOLD_EVERY_S = 0.2
_LOGGED_EVERY_S = 10.0
_NICENESS = 5
"""Runs give way to pages."""


class _Teller:
    """Tells how far the process is: in a file for pages, and in words in the log."""

    def __init__(self, order: Order, log: TextIO) -> None:
        self._order, self._log = order, log
        self._told_at_s = self._logged_at_s = -_LOGGED_EVERY_S
        self._said = self._why = ""

    def say(self, words: str) -> None:
        """Write a line into the log."""
        self._log.write(f"{time.strftime('%H:%M:%S')}  {printable(words)}\n")
        self._log.flush()

    def __call__(self, now: Progress) -> None:
        """Tell how far it is, unless that was told just now."""
        now_s = time.monotonic()
        if now.is_over or now_s >= self._told_at_s + _TOLD_EVERY_S:
            self._told_at_s = now_s
            self._order.tell(now)
        for words in (now.now, now.why and f"a run failed: {now.why}"):
            if words and words not in (self._said, self._why):
                self.say(words)
        self._said, self._why = now.now, now.why and f"a run failed: {now.why}"
        if now.n_total and (now.is_over or now_s >= self._logged_at_s + _LOGGED_EVERY_S):
            self._logged_at_s = now_s
            self.say(now.line)


def main(folder: Path, root: Path, *, allows_code: bool) -> None:
    """Run the order in a folder, in the served folder `root`; what is found to say goes into its log."""
    order, cancel = Order(int(folder.name), folder), CancelToken()
    is_ending: list[int] = []

    def ask(number: int, _frame: object) -> None:
        is_ending.extend([number] if number == signal.SIGTERM else [])
        cancel.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    order.begun_by(os.getpid())  # from now on it may be told to end
    os.nice(_NICENESS)
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        teller = _Teller(order, log)
        try:
            state, words = _run(order, root, teller, cancel, allows_code=allows_code)
        except Cancelled as error:
            teller.say(str(error))
            if is_ending:  # the workbench ends, and its next one goes on from here
                return
            state, words = State.CANCELLED, order.kept
        except InputError as error:
            state, words = State.REFUSED, str(error)
        except (JoulewiseError, OSError) as error:
            state, words = State.BROKEN, str(error)
        except Exception:
            log.write(traceback.format_exc())
            state, words = State.BROKEN, "something in Joulewise broke; the log has the details"
        teller.say(f"{state}: {words}" if words else state)
        order.end(state, words)


def _run(order: Order, root: Path, teller: _Teller, cancel: CancelToken, *, allows_code: bool) -> tuple[State, str]:
    """Run the study of an order, and write its report."""
    from joulewise.kernels.jit import kernels_are_compiled
    from joulewise.serve.run.editor import read_served, results_folder
    from joulewise.study import run_study

    teller.say(f"Checking {order.study}")
    study = read_served(order.text, root / order.study, root, allows_code=allows_code)
    if not kernels_are_compiled(study.kind.name):
        teller.say("Compiling for this machine, once; this takes a minute or two.")
    results = run_study(study, results_folder(study, root), None, teller, cancel)
    teller.say("Writing the report")
    if told := order.progress:
        order.tell(replace(told, now="writing the report"))
    lost = _lost_report(results)
    if told:
        order.tell(told)
    if lost:
        return State.SOME_FAILED, lost
    if n_failed := results.failed.height:
        return State.SOME_FAILED, noun(n_failed, f"{n_failed:,} run failed", f"{n_failed:,} runs failed")
    return State.DONE, ""


def _lost_report(results: Results) -> str:
    """Write the report unless it is there, and say why if it cannot be."""
    from joulewise.present.kept import current_report
    from joulewise.present.results import write_report

    try:
        if current_report(results) is None:
            write_report(results)
    except InputError as error:
        return f"results are there, and their report is not: {error}"
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), allows_code=ALLOW_CODE in sys.argv[3:])
