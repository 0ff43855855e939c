"""The laboratory: what it finds of machines that are known, what it costs programs, and how fast it is itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Bar, Case, Subject, seconds
from joulewise.measure.analysis.analysis import Analysis, analyse
from joulewise.measure.analysis.slowdowns import groups_of, neighbours
from joulewise.measure.bench.bench import GroupExperiment, MeasuredProgram, Member, Way
from joulewise.measure.bench.laboratory import measure
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.bench.setting import opened
from joulewise.measure.bench.store import LaboratoryStore
from joulewise.measure.plan.plan import Plan, parse_plan
from joulewise.measure.synthetic.machine import SyntheticMachine
from joulewise.rng import generator

MACHINES_PER_TRIAL = 5
NOISES = (0.005, 0.02)
"""Relative noise of all readings of a machine is drawn between these."""

RANGES = {
    "alone": (20, 400), "share_scaled": (0.3, 1), "dynamic": (3, 12), "sensitivity": (0.05, 1), "pressure": (0, 0.3)
}  # fmt: skip
CURVATURES = (2.0, 6.0)
"""Of machines whose slowdowns are more than their sums: a sum x of them is x (1 + curvature x)."""

PLAN = """
name = "known"
repetitions = {repetitions}
ways = ["{way}"]
[together]
pairs = "all"
groups = [
    ["a", "b", "c"], ["a", "a", "b", "d"], ["b", "c", "d", "d"], ["a", "a", "b", "b", "c", "c", "d", "d"],
]
[clock]
frequencies = "all"
[synthetic]
seed = {seed}
frequencies = [1200, 2000, 3000]
cores = 8
static = "{static:.1f} W"
curvature = {curvature:g}
time_noise = {noise:.4f}
energy_noise = {noise:.4f}
counter_noise = {noise:.4f}
"""
PROGRAM = """
[[synthetic.program]]
name = "{name}"
alone = "{alone:.1f} s"
share_scaled = {share_scaled:.3f}
dynamic = "{dynamic:.2f} W"
instructions = 1e11
intensity = {intensity:.3e}
sensitivity = {sensitivity:.3f}
pressure = {pressure:.3f}
"""


class Guess(NamedTuple):
    """What an analysis says of something that is known, with half of its interval, if it has one."""

    truth: float
    found: float
    half: float | None


# --- machines that are known -------------------------------------------------------------------------------------


def _plan(seed: int, curvature: float = 0.0, way: Way = "restart", repetitions: int = 5) -> Plan:
    """A drawn machine with four programs, from bound by memory to bound by the core."""
    random = generator(seed, "laboratory")
    programs = [
        PROGRAM.format(name=name, intensity=10 ** random.uniform(-5, -1.5), **_drawn(random)) for name in "abcd"
    ]
    drawn = {"static": random.uniform(20, 120), "noise": random.uniform(*NOISES)}
    heading = PLAN.format(seed=seed, curvature=curvature, way=way, repetitions=repetitions, **drawn)
    return parse_plan(heading + "".join(programs), "known.toml", Path())


def _drawn(random: np.random.Generator) -> dict[str, float]:
    return {key: random.uniform(*between) for key, between in RANGES.items()}


def _found(plan: Plan) -> Analysis:
    """What the laboratory finds of a machine, through its journal and its store."""
    with TemporaryDirectory() as folder, opened(plan, Path(folder)) as setting:
        measure(plan, Path(folder), setting)
        store = LaboratoryStore(Path(folder))
        return analyse(store.write_tables(), store.idle_powers())


def _guesses(machine: SyntheticMachine, found: Analysis) -> Iterator[tuple[str, Guess]]:
    """Everything that was found of a machine beside what it was made of."""
    known = {program.name: program for program in machine.programs}
    groups = groups_of(found.observations)
    for guess in _pair_guesses(machine, found):
        yield "slowdown", guess
    for row in found.scaling.iter_rows(named=True):
        yield "share_scaled", Guess(known[row["program"]].share_scaled, row["share_scaled"], row["share_ci"])
    for row in found.additive.iter_rows(named=True):
        beside = [known[name] for name in neighbours(groups[row["group"]], row["program"])]
        truth = machine.slowdown(known[row["program"]], beside, float(row["clock"].removesuffix(" MHz")))
        yield f"sum_in_{row['size']}", Guess(truth, row["predicted"], row["predicted_ci"])
        yield f"sum_less_measured_in_{row['size']}", Guess(0.0, row["error"], row["error_ci"])
    for row in found.powers.unique("clock").iter_rows(named=True):
        read_w = (machine.static_w, row["static_w"], row["static_ci_w"])
        yield "static", Guess(*(value / machine.static_w for value in read_w))
    for row in found.powers.iter_rows(named=True):
        whole_w = machine.power_w([known[row["program"]]], row["clock_mhz"])
        read_w = (whole_w - machine.static_w, row["dynamic_w"], row["dynamic_ci_w"])
        yield "dynamic", Guess(*(value / whole_w for value in read_w))
    for row in found.programs.iter_rows(named=True):
        truth = known[row["program"]].intensity
        yield "intensity", Guess(1.0, row["intensity"] / truth, row["intensity_ci"] / truth)


def _pair_guesses(machine: SyntheticMachine, found: Analysis) -> Iterator[Guess]:
    known = {program.name: program for program in machine.programs}
    for row in found.pairs.iter_rows(named=True):
        truth = machine.slowdown(known[row["program"]], [known[row["beside"]]], row["clock_mhz"])
        yield Guess(truth, row["slowdown"], row["slowdown_ci"])


def recovery(case: Case) -> dict[str, float]:
    """How far off the laboratory is, how often its intervals hold the truth, and what it says of sums of slowdowns."""
    seeds = [1000 * case.seed + i for i in range(1 if case.smoke else MACHINES_PER_TRIAL * case.trials)]
    guesses: dict[str, list[Guess]] = {}
    verdicts = []
    for plan, plan_once in ((_plan(seed), _plan(seed, way="once")) for seed in seeds):
        assert plan.synthetic is not None
        found = _found(plan)
        verdicts.append(found.additivity.verdict)
        for what, guess in _guesses(plan.synthetic, found):
            guesses.setdefault(what, []).append(guess)
        guesses.setdefault("slowdown_once", []).extend(_pair_guesses(plan.synthetic, _found(plan_once)))
    curvatures = CURVATURES[: 1 if case.smoke else None]
    called = [_is_called_rightly(seed, curvature) for seed in seeds for curvature in curvatures]
    return {
        "recovery.machines": len(seeds),
        **{name: value for what, made in guesses.items() for name, value in _quality(what, made).items()},
        "recovery.sums.called_additive_percent": 100 * fmean(verdict == "additive" for verdict in verdicts),
        "recovery.curved.called_as_without_noise_percent": 100 * fmean(called),
    }


def _quality(what: str, guesses: Sequence[Guess]) -> dict[str, float]:
    errors = [100 * abs(guess.found - guess.truth) for guess in guesses]
    held = [abs(guess.found - guess.truth) <= guess.half for guess in guesses if guess.half is not None]
    shares = {f"recovery.{what}.held_percent": 100 * fmean(held)} if held else {}
    return {f"recovery.{what}.mean_error_percent": fmean(errors), **shares}


def _is_called_rightly(seed: int, curvature: float) -> bool:
    """Whether noise does not change the verdict on how slowdowns of several neighbours add up."""
    same = _plan(seed, curvature, repetitions=2)
    assert same.synthetic is not None
    exact = replace(same, synthetic=replace(same.synthetic, time_noise=0.0))
    return _found(_plan(seed, curvature)).additivity.verdict == _found(exact).additivity.verdict


# --- what it costs -----------------------------------------------------------------------------------------------


def costs(case: Case) -> dict[str, float]:
    """What a program's time has on top of its own, and how far apart the members of a group begin."""
    cores = sorted(os.sched_getaffinity(0))
    bench, repeats = MachineBench(cores), 3 if case.smoke else 50
    alone = GroupExperiment((Member(MeasuredProgram("nothing", ("true",)), (cores[0],)),))
    pair = GroupExperiment(tuple(Member(_waiting(name), (core,)) for name, core in zip("ab", cores)), way="once")
    nothing_s = [bench.run(alone, i).members[0].wall_s for i in range(repeats)]
    begins = [[member.setup_s for member in bench.run(pair, i).members] for i in range(repeats)]
    return {
        "costs.of_nothing_ms": 1e3 * median(nothing_s),
        "costs.apart_us": 1e6 * median(max(of_run) - min(of_run) for of_run in begins),
        "costs.run_ms": 1e3 * seconds(lambda: bench.run(alone, 0), repeats),
    }


def _waiting(name: str) -> MeasuredProgram:
    """A program that waits after its set-up, does nothing once, and ends."""
    return MeasuredProgram(name, ("sh", "-c", "echo >&$JOULEWISE_BEGIN && read -r _ <&$JOULEWISE_GO"), waits=True)


# --- how fast it is ----------------------------------------------------------------------------------------------


def speed(case: Case) -> dict[str, float]:
    """Runs a second through plan, journal and store on a machine that takes no time, and seconds of an analysis."""
    plan = _plan(case.seed)
    with TemporaryDirectory() as folder, opened(plan, Path(folder)) as setting:
        began = time.perf_counter()
        n_runs = measure(plan, Path(folder), setting).n_runs
        measured_s = time.perf_counter() - began
        store = LaboratoryStore(Path(folder))
        observations, idle = store.write_tables(), store.idle_powers()
    analysis_s = seconds(lambda: analyse(observations, idle), 1 if case.smoke else 5)
    return {"speed.runs_per_s": n_runs / measured_s, "speed.analysis_s": analysis_s, "speed.runs": n_runs}


SUBJECT = Subject(
    "laboratory",
    {"recovery": recovery, "costs": costs, "speed": speed},
    (
        Bar("slowdowns of pairs: mean error in points", "recovery.slowdown.mean_error_percent", "at most", 1),
        Bar("slowdowns of pairs: intervals that hold the truth in %", "recovery.slowdown.held_percent", "at least", 90),
        Bar("the same, left early: intervals that hold it in %", "recovery.slowdown_once.held_percent", "at least", 90),
        Bar(
            "sums in groups of 8: intervals that hold the truth in %", "recovery.sum_in_8.held_percent", "at least", 90
        ),
        Bar("static powers: intervals that hold the truth in %", "recovery.static.held_percent", "at least", 90),
        Bar("dynamic powers: intervals that hold the truth in %", "recovery.dynamic.held_percent", "at least", 90),
        Bar("sums that are sums, called so in %", "recovery.sums.called_additive_percent", "at least", 90),
        Bar("a program that does nothing: ms", "costs.of_nothing_ms", "at most", 10),
    ),
)
