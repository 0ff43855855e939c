"""The synthetic machine: what it reads is what it was made of, and its section of a plan is read strictly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.analysis.published import ALONE_J, TOGETHER_J
from joulewise.measure.bench.bench import ClockSetting, MeasuredProgram, MeasuringBench
from joulewise.measure.plan.plan import parse_plan
from joulewise.measure.synthetic.machine import LIKE_PUBLISHED, SyntheticMachine, SyntheticProgram
from joulewise.measure.synthetic.section import SyntheticProgramSection, SyntheticSection, synthetic_machine
from joulewise.measure.synthetic.synthetic import SyntheticBench
from tests.strategies.synthetic_runs import experiment

SHORT = SyntheticProgram("short", 10.0, 0.5, 4.0, 1e9, 1e-3, 1.0, 0.5)
LONG = SyntheticProgram("long", 30.0, 1.0, 6.0, 1e9, 1e-5, 0.4, 0.2)
EXACT = SyntheticMachine(
    (SHORT, LONG), (1000.0, 2000.0), static_w=20.0, power_exponent=2.0, time_noise=0, energy_noise=0, counter_noise=0
)


def test_members_that_are_not_started_again_leave_room() -> None:
    """short: 10 s (1 + 1.0 * 0.2) = 12 s; long: 10 s of work done in 12 s at 1 + 0.4 * 0.5, then 20 s alone."""
    bench: MeasuringBench = SyntheticBench(EXACT)
    read = bench.run(experiment(["short", "long"], way="once"), 0)
    assert [member.wall_s for member in read.members] == pytest.approx([12.0, 32.0])
    assert [member.company_share for member in read.members] == pytest.approx([1.0, 12 / 32])
    assert [member.energy_j for member in read.members] == pytest.approx([12 * 30.0, 12 * 30.0 + 20 * 26.0])
    assert (read.group_s, read.energy_j) == pytest.approx((32.0, 880.0))
    assert read.members[0].cache_misses == pytest.approx(1e6 * (1 + EXACT.miss_rise * 0.2))


def test_members_that_are_started_again_are_never_alone() -> None:
    read = SyntheticBench(EXACT).run(experiment(["short", "long"]), 0)
    assert [member.wall_s for member in read.members] == pytest.approx([12.0, 36.0])
    assert [member.restarts for member in read.members] == [2, 0]
    assert read.energy_j == pytest.approx(36 * 30.0)


def test_clocks_scale_what_scales() -> None:
    bench = SyntheticBench(EXACT)
    clocks = (ClockSetting(1000.0), ClockSetting(None, "powersave"))
    slow, asleep = (bench.run(replace(experiment(["short"]), clock=clock), 0) for clock in clocks)
    assert slow.members[0].wall_s == pytest.approx(15.0)
    assert slow.energy_j == asleep.energy_j == pytest.approx(15 * (20 + 4 / 4))


def test_a_run_is_drawn_anew_for_each_repetition_and_alike_after_a_new_start() -> None:
    machine = replace(EXACT, time_noise=0.1)
    first, again, other = (SyntheticBench(machine).run(experiment(["short"]), n).group_s for n in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    ("names", "mhz", "said"),
    [
        (["nobody"], None, "found the program 'nobody'; the synthetic machine has short, long"),
        (["short"], 1234.0, "found 1234 MHz; the synthetic machine has 1000, 2000 MHz"),
        (["short"] * 5, None, "found core 4; the synthetic machine has cores 0 to 3"),
    ],
)
def test_what_it_cannot_run_is_a_problem_of_the_run(names: list[str], mhz: float | None, said: str) -> None:
    bench = SyntheticBench(EXACT)
    assert bench.run(experiment(names, mhz), 0).problem == said
    assert bench.warm_up(MeasuredProgram(names[0], ("x",)), ()) == (said if names == ["nobody"] else "")


def test_the_default_machine_is_like_the_published_one() -> None:
    bench = SyntheticBench(SyntheticMachine(time_noise=0, energy_noise=0))
    alone = {name: bench.run(experiment([name]), 0).energy_j for name in ALONE_J}
    assert alone == pytest.approx(ALONE_J, rel=0.01)
    pairs = [group for group in TOGETHER_J if "bodytrack" not in group]
    found = [bench.run(experiment(group, way="once"), 0).energy_j for group in pairs]
    assert found == pytest.approx([TOGETHER_J[group] for group in pairs], rel=0.1)


def test_a_section_sets_what_it_names_and_leaves_the_rest() -> None:
    program = dict(zip(SyntheticProgramSection.model_fields, ("a", "2 min", 0.5, "5 W", 1e9, 1e-3, 1, 0)))
    section = {"static": "20 W", "frequencies": [2000, 1000], "energy": False, "program": [program]}
    machine = synthetic_machine(SyntheticSection.model_validate(section))
    assert machine.programs == (SyntheticProgram("a", 120.0, 0.5, 5.0, 1e9, 1e-3, 1.0, 0.0),)
    assert (machine.static_w, machine.frequencies_mhz, machine.has_energy) == (20.0, (1000.0, 2000.0), False)
    assert synthetic_machine(SyntheticSection.model_validate({})) == SyntheticMachine(LIKE_PUBLISHED)


def test_a_section_tells_all_its_mistakes_at_once() -> None:
    text = """
name = "x"
[synthetic]
statik = 1
static = 5
time_noise = 2
energy = 1
[[synthetic.program]]
name = "a"
alone = "0 s"
[[synthetic.program]]
name = "2 b"
[[synthetic.program]]
name = "a"
"""
    with pytest.raises(InputError) as caught:
        parse_plan(text, "p.toml", Path())
    said = {problem.where.removeprefix("p.toml: synthetic."): str(problem) for problem in caught.value.problems}
    lacking = [key for key in SyntheticProgramSection.model_fields if key not in ("name", "alone")]
    assert said.keys() == {
        "statik", "static", "time_noise", "energy", "program[0] (a).alone", "program[1].name", "program[1].alone",
        "program[2] (a).name", "program[2] (a).alone",
        *(f"program{i}.{key}" for i in ("[0] (a)", "[1]", "[2] (a)") for key in lacking),
    }  # fmt: skip
    assert "did you mean 'static'?" in said["statik"]
    assert 'for example "55 W"' in said["static"]
    assert "found 'a' twice" in said["program[2] (a).name"]
