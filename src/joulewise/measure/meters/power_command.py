"""Energy from a user's command that prints the power of the machine, asked again and again."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from joulewise.measure.machine.availability import Availability

_NUMBER = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_FACTORS = {"mw": 1e-3, "milliwatt": 1e-3, "w": 1.0, "watt": 1.0, "kw": 1e3, "kilowatt": 1e3}
_UNIT = r"(mw|kw|milliwatt|kilowatt|watt|w)s?\b"
_MOST_W = 1e6
"""More than any machine draws: what is read beyond it is in another unit."""
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"^\s*instantaneous power reading\s*:\s*{_NUMBER}\s*{_UNIT}",  # ipmitool dcmi power reading
        rf"\|\s*{_NUMBER}\s*(?:\|\s*)?{_UNIT}",  # ipmitool sdr, ipmitool sensor
        rf"\"(?:apower|power|power_w|watts)\"\s*:\s*{_NUMBER}()",  # JSON of sockets that measure
        rf"^\s*{_NUMBER}\s*(?:{_UNIT})?\s*$",  # a number alone
        rf"{_NUMBER}\s*{_UNIT}",  # a number in a sentence
    )
)
"""How commands print a power; the first that fits counts. Without a unit it is watts."""

_ADVICE = (
    "the command must print one number of watts, such as 217 or '217 W'; of several, let awk choose or add: "
    """sh -c "ipmitool sdr | awk -F'|' '/Input Power/ {w += $2} END {print w}'"; try it by hand"""
)
_SHOWN, _MOST_SHOWN = 80, 4
_MOST_BYTES = 1 << 16


def parse_watts(text: str) -> list[float]:
    """All powers that a command printed in the way that counts; two supplies may well draw the same."""
    matches = next(filter(None, (pattern.findall(text) for pattern in _PATTERNS)), [])
    return [float(number) * _FACTORS[(unit or "w").lower()] for number, unit in matches]


class PowerCommand:
    """A command that prints watts; powers are joined by lines, and each counts for the middle of its command's run."""

    def __init__(
        self,
        command: str | Sequence[str],
        limit_s: float = 10.0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.command = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
        self.limit_s = limit_s
        self._now_s = now_s
        self._last: tuple[float, float] | None = None
        self._total_j = 0.0

    @property
    def name(self) -> str:
        """The command as a shell would read it."""
        return shlex.join(self.command)

    def availability(self) -> Availability:
        """Whether the command runs and prints a power."""
        value_w, why = self._ask()
        if why:
            return Availability("energy", False, f"{self.name}: {why}", _ADVICE)
        return Availability("energy", True, f"{self.name}: {value_w:g} W now")

    def read_j(self) -> float:
        """Joules since the first reading, less the time around readings that failed; NaN where this one failed."""
        before_s = self._now_s()
        value_w, why = self._ask()
        time_s = (before_s + self._now_s()) / 2
        last, self._last = self._last, None if why else (time_s, value_w)
        if why:
            return math.nan
        if last is not None:
            self._total_j += (time_s - last[0]) * (value_w + last[1]) / 2
        return self._total_j

    def _ask(self) -> tuple[float, str]:
        """The power now, or why there is none."""
        try:
            output = self._run()
        except FileNotFoundError:
            return math.nan, f"there is no program {self.command[0]!r}"
        except OSError as error:
            return math.nan, f"cannot be used: {error.strerror}"
        except subprocess.TimeoutExpired:
            return math.nan, f"gave no answer within {self.limit_s:g} s"
        except subprocess.CalledProcessError as error:
            return math.nan, f"ended with status {error.returncode}{_said(error.output)}"
        powers_w = parse_watts(output)
        why = _why_no_power(powers_w) if powers_w else f"printed no power{_said(output)}"
        return (math.nan, why) if why else (powers_w[0], "")

    def _run(self) -> str:
        """What the command prints; all processes that it started are ended when it takes too long."""
        ear, mouth = os.pipe()
        with os.fdopen(ear, "rb"):
            with os.fdopen(mouth, "wb"):
                process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=mouth, stderr=mouth, start_new_session=True
                )
            with process:
                try:
                    output = self._listen(process, ear)
                except BaseException:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, self.command, output)
        return output

    def _listen(self, process: subprocess.Popen[bytes], ear: int) -> str:
        """All that a command prints until it ends; OSError where that is far more than a power."""
        until_s = time.monotonic() + self.limit_s
        words = select.poll()
        words.register(ear, select.POLLIN)
        heard = bytearray()
        while len(heard) <= _MOST_BYTES:
            if not words.poll(1000.0 * max(0.0, until_s - time.monotonic())):
                raise subprocess.TimeoutExpired(self.command, self.limit_s)
            piece = os.read(ear, _MOST_BYTES)
            heard += piece
            if not piece:
                process.wait(max(0.0, until_s - time.monotonic()))
                return heard.decode(errors="replace")
        raise OSError(errno.EFBIG, f"it prints more than {_MOST_BYTES} bytes")


def _why_no_power(powers_w: Sequence[float]) -> str:
    """Why what was printed cannot be the power of a machine; nothing where it can."""
    printed = "printed " + ", ".join(f"{value_w:g} W" for value_w in powers_w[:_MOST_SHOWN])
    if len(powers_w) > 1:
        return f"{printed}{' and more' if len(powers_w) > _MOST_SHOWN else ''}: which of them is meant?"
    if powers_w[0] > _MOST_W:
        return f"{printed}, which no machine draws: it may have another unit"
    return f"{printed}, which no running machine draws" if powers_w[0] <= 0 else ""


def _said(output: str) -> str:
    """The last line of an output, for a message."""
    lines = output.strip().splitlines()
    return f", after {lines[-1].strip()[:_SHOWN]!r}" if lines else ", and said nothing"
