"""A user's own policy in plain Python: asked at every event, watched over, and its answers checked.

It is a function of an event, or a class of which every run has an instance: `start(world)`, where there is one, then
`decide(event)` at every event. Systems differ in what an event shows and in which columns an answer has.
"""

from __future__ import annotations

import inspect
import io
import reprlib
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Counts
from joulewise.policies.time_limit import TIME_LIMIT_S, TimeUpError, within
from joulewise.units import roughly

Decide = Callable[[Any], Any]


@dataclass(frozen=True)
class Own:
    """A function of an event, or a class, that decides; runs of it that take longer than the limit fail.

    One that `is_compiled` is called by the kernels, and asked by nobody else.
    """

    code: Callable[..., Any]
    time_limit_s: float = TIME_LIMIT_S
    is_compiled: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"policy {getattr(self.code, '__name__', 'of your own')}"

    def row(self, title: str) -> tuple[str, str, str, str]:
        """Name, title, summary and source of its row in a table of policies."""
        name = getattr(self.code, "__name__", "policy")
        summary = (inspect.getdoc(self.code) or "A policy of your own.").splitlines()[0]
        return name, title or name, summary, self.code.__module__


def own_of(code: Callable[..., Any], time_limit_s: float, *, is_compiled: bool = False) -> Own:
    """A function decide(event), or a class with decide(self, event); InputError for anything else."""
    own, is_class = Own(code, time_limit_s, is_compiled), inspect.isclass(code)
    if is_compiled and not inspect.isfunction(code):
        raise InputError(Problem(own.name, f"found {type(code).__name__}", "must be a function to be compiled"))
    if not time_limit_s > 0:
        raise InputError(Problem(own.name, f"found the time limit {time_limit_s} s", "must be above 0 s"))
    decide = getattr(code, "decide", None) if is_class else code
    if decide is None:
        raise InputError(Problem(own.name, "found a class without decide", advice="give it decide(self, event)"))
    if len(parameters := inspect.signature(decide).parameters) != 1 + is_class:
        found, allowed = f"found the parameters ({', '.join(parameters)})", "must be decide(event)"
        raise InputError(Problem(own.name, found, allowed))
    return own


class Answer:
    """What a policy said at one event; messages show it as it was."""

    def __init__(self, where: str, returned: Any) -> None:
        self.where, self.returned = where, returned

    def rows(self, columns: Sequence[str]) -> Counts:
        """The answer as whole numbers with these columns, one row for each assignment."""
        n = len(columns)
        if self.returned is None:
            return np.empty((0, n), np.int64)
        try:
            is_columns = isinstance(self.returned, tuple) and len(self.returned) == n
            table = np.stack(np.broadcast_arrays(*map(_line, self.returned)), 1) if is_columns else self.returned
            table = np.asarray(table)
        except (TypeError, ValueError):
            table = np.empty(0, object)
        if table.size == 0 and table.dtype != object:
            return np.empty((0, n), np.int64)
        if table.dtype.kind not in "iuf" or table.ndim != 2 or table.shape[1] != n:
            raise self.error(f"must be None, {n} columns or an array with {n} columns ({', '.join(columns)})")
        if not (np.abs(table) < 2**53).all() or (table != np.floor(table)).any():
            raise self.error(f"must be whole numbers ({', '.join(columns)})")
        return table.astype(np.int64)

    def error(self, allowed: str, advice: str = "") -> InputError:
        """The error of an answer that is none."""
        return InputError(Problem(self.where, f"returned {shortened(self.returned)}", allowed, advice))


def shortened(value: Any) -> str:
    """A value in a few words on one line."""
    return " ".join(_SHORT.repr(value).split())


_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 120


def _line(column: Any) -> Any:
    values = np.asarray(column)
    if values.ndim > 1:
        raise ValueError("a column has one dimension")
    return np.atleast_1d(values)


class Asking:
    """A run of a policy: an instance of its own where it is a class, and what was printed so far.

    A run in parts begins in each of their worlds; the policy starts in the first one.
    """

    def __init__(self, own: Own) -> None:
        self.own, self.where, self._printed = own, f"{own.name}, before the first event", io.StringIO()
        self._decide: Decide = own.code
        self._is_new = inspect.isclass(own.code)

    def ask(self, event: Any, place: str) -> Answer:
        """What the policy says at an event; InputError when it raises."""
        self.where = f"{self.own.name}, {place}"
        with self._heard():
            return Answer(self.where, self._called(self._decide, event))

    def carry_out(self, event: Any, columns: Sequence[str], act: Callable[..., Any]) -> Answer:
        """Do what the policy says at an event with columns of these names; InputError when that is impossible."""
        answer = self.ask(event, event.place)
        rows = answer.rows(columns)
        if len(rows):
            try:
                act(*rows.T)
            except InputError as error:
                raise answer.error(error.problems[0].found, error.problems[0].advice) from error
        return answer

    @contextmanager
    def begun(self, world: Any) -> Iterator[Asking]:
        """Begin in a world, let the run end with an InputError when it takes too long, and tell what was printed."""
        with within(self.own.time_limit_s) as is_late:
            self._start(world)
            yield self
        if is_late.is_set():
            found = f"the run was not over after {roughly(self.own.time_limit_s)}"
            raise InputError(Problem(self.where, found, advice="make it faster, or raise its time_limit_s"))
        self._tell_printed()

    def _start(self, world: Any) -> None:
        """Make the instance that is asked, where the policy is a class."""
        if not self._is_new:
            return
        self._is_new = False
        with self._heard():
            instance = self._called(self.own.code)
            self._decide = instance.decide
            if hasattr(instance, "start"):
                self._called(instance.start, world)

    def _tell_printed(self) -> None:
        printed, self._printed = self._printed.getvalue().strip(), io.StringIO()
        if printed:
            first, *more = printed.splitlines()
            others = f" (and {len(more)} more lines)" if more else ""
            warnings.warn(f"{self.own.name} printed: {shortened(first)}{others}", stacklevel=2)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Keep what is printed from where results are printed."""
        with redirect_stdout(self._printed), redirect_stderr(self._printed):
            yield

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except InputError as error:
            raise InputError(*(Problem(self.where, str(one)) for one in error.problems)) from error
        except (TimeUpError, KeyboardInterrupt):
            raise
        except BaseException as error:
            found = f"raised {type(error).__name__}: {' '.join(str(error).split())} ({_place_of(error, self.own)})"
            raise InputError(Problem(self.where, found, advice="fix the policy")) from error


def _place_of(error: BaseException, own: Own) -> str:
    """The line of the user's file that an error comes from; the last one of all if there is none."""
    frames, file = traceback.extract_tb(error.__traceback__), inspect.getsourcefile(own.code)
    last = next((frame for frame in reversed(frames) if frame.filename == file), frames[-1])
    return f"{Path(last.filename).name}, line {last.lineno}"
