"""What every benchmark shares: a case, bars, and the one JSON object it prints."""

from __future__ import annotations

import json
import operator
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Any

from joulewise.optimise.gpu import gpu_name

ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("joulewise", "numpy", "scipy", "numba", "polars", "cupy-cuda12x")


@dataclass(frozen=True)
class Case:
    """What one benchmark run is asked for: another seed is another, unseen case; smoke is tiny.

    `trials` is over how many worlds figures of quality are averaged.
    """

    seed: int = 0
    smoke: bool = False
    trials: int = 8

    @property
    def part(self) -> float:
        """How much of a published load a case has."""
        return 0.005 if self.smoke else 1.0


@dataclass(frozen=True)
class Bar:
    """A figure and what it must reach: `side` is "at least" or "at most"."""

    what: str
    figure: str
    side: str
    bar: float

    def judge(self, figures: Mapping[str, float]) -> dict[str, Any]:
        value = figures[self.figure]
        holds = {"at least": operator.ge, "at most": operator.le}[self.side](value, self.bar)
        return {"what": self.what, "value": value, "bar": f"{self.side} {self.bar:g}", "holds": bool(holds)}


Group = Callable[[Case], dict[str, float]]


@dataclass(frozen=True)
class Subject:
    """A benchmark: groups of figures that `--only` can name, and the bars over them.

    The groups for a GPU run in their place when asked for, and in a smoke run beside the others if there is one.
    `write_page` writes the page that tells of a whole result, where there is one.
    """

    name: str
    groups: Mapping[str, Group]
    bars: Sequence[Bar]
    gpu_groups: Mapping[str, Group] = field(default_factory=dict)
    write_page: Callable[[Mapping[str, Any]], None] | None = None

    def chosen(self, case: Case, on_gpu: bool) -> dict[str, Group]:
        """The groups that are to run here."""
        if on_gpu or (case.smoke and self.gpu_groups and gpu_name()):
            return {**({} if on_gpu else self.groups), **self.gpu_groups}
        return dict(self.groups)

    def run(self, case: Case, only: str | None = None, on_gpu: bool = False) -> dict[str, Any]:
        figures: dict[str, float] = {}
        for name, group in self.chosen(case, on_gpu).items():
            if only in (None, name):
                print(f"{self.name}: {name} ...", file=sys.stderr, flush=True)
                figures |= group(case)
        bars = [] if case.smoke else [bar.judge(figures) for bar in self.bars if bar.figure in figures]
        return {
            "name": self.name,
            "seed": case.seed,
            "machine": machine(),
            "versions": versions(),
            "figures": {name: _rounded(value) for name, value in figures.items()},
            "bars": bars,
        }


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def versions() -> dict[str, str]:
    """The versions of the packages that matter and are installed."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine() -> dict[str, Any]:
    """The machine in words that matter for a time."""
    return {
        **({"gpu": gpu_name()} if gpu_name() else {}),
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The fastest of several runs, in seconds of wall time."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def command_seconds(arguments: Sequence[str], repeats: int) -> float:
    """The fastest of several runs of a `joulewise` command from a warm disk."""
    command = [sys.executable, "-m", "joulewise", *arguments]

    def run() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run()
    return seconds(run, repeats)


def peak_memory_mb(script: str, case: Case) -> float:
    """The most memory a fresh Python process held while running the script, in MB."""
    return printed_by(f"{script}\nfrom benchmarks.measure import peak_mb; print(peak_mb())", case)[-1]


def peak_mb() -> float:
    """The most memory this process has held, in MB.

    getrusage would tell of the process that started it where that is larger.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def command_spent(arguments: Sequence[str], environment: Mapping[str, str], case: Case) -> tuple[float, float]:
    """Seconds of a `joulewise` command, and the most memory in MB of the largest of its processes.

    A small process starts it and is told by the system what the largest of those that have ended had held.
    """
    script = f"""
import os, resource, subprocess, sys, time
command = [sys.executable, "-m", "joulewise", *{list(arguments)!r}]
began = time.perf_counter()
subprocess.run(command, check=True, env=os.environ | {dict(environment)!r}, stdout=subprocess.DEVNULL)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
    spent_s, largest_mb = printed_by(script, case)
    return spent_s, largest_mb


def printed_by(script: str, case: Case) -> list[float]:
    """The numbers that a fresh Python process printed while running the script; a smoke run stays in this one."""
    if case.smoke:
        with redirect_stdout(StringIO()) as printed:
            exec(script, {})
        return [float(word) for word in printed.getvalue().split()]
    done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    return [float(word) for word in done.stdout.split()]


def as_json(result: Mapping[str, Any]) -> str:
    return json.dumps(result, indent=2)


def as_text(result: Mapping[str, Any]) -> str:
    """The result for people."""
    lines = [f"{result['name']} (seed {result['seed']})"]
    lines += [f"  {name:<52} {value:>12.5g}" for name, value in result["figures"].items()]
    lines += [
        f"  {'holds ' if bar['holds'] else 'MISSED'}  {bar['what']}: {bar['value']:.5g} (bar: {bar['bar']})"
        for bar in result["bars"]
    ]
    return "\n".join(lines)
