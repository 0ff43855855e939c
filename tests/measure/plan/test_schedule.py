"""Schedules: groups, cores and order follow from the plan and its seed; samples tell every effect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.bench.bench import MeasuredProgram
from joulewise.measure.machine.machine import Machine, read_machine
from joulewise.measure.machine.places import BEYOND_QUOTA, MIXED_KINDS, SHARED_CORES, cores_used, place_notes
from joulewise.measure.plan.groups import groups_of, sample_groups, tells_all
from joulewise.measure.plan.plan import Plan
from joulewise.measure.plan.schedule import LONG_S, OVERHEAD_S, PlanEstimate, PlannedRun, estimate, schedule
from tests.strategies import trees
from tests.strategies.small_lab import MACHINE, TEXT, small_plan

FOUR = replace(MACHINE, siblings=((0,), (1,), (2,), (3,)))


def runs_of(plan: Plan, machine: Machine = MACHINE) -> tuple[PlannedRun, ...]:
    return schedule(
        plan, machine, {program.name: MeasuredProgram(program.name, program.words) for program in plan.programs}
    )


def refused(more: str, text: str = TEXT, machine: Machine = MACHINE) -> str:
    with pytest.raises(InputError) as caught:
        runs_of(small_plan(more, text), machine)
    return str(caught.value)


def test_groups_are_those_of_the_plan_each_once() -> None:
    more = '[together]\npairs = [["b", "a"]]\ngroups = [["b", "a", "a"], ["a", "b"]]\nall_of_size = [3]\n'
    assert groups_of(small_plan(more)) == (
        ("a",), ("b",), ("a", "b"), ("a", "a", "b"), ("a", "a", "a"), ("a", "b", "b"), ("b", "b", "b")
    )  # fmt: skip
    assert len(groups_of(small_plan('[together]\npairs = "none"'))) == 2


def test_every_repetition_is_a_round_in_an_order_of_its_own() -> None:
    plan = small_plan(text='ways = ["restart", "once"]\nseed = 4\n' + TEXT)
    runs = runs_of(plan)
    rounds = [[run for run in runs if run.repetition == i] for i in range(3)]
    kinds = [[(run.experiment.group, run.experiment.way) for run in one] for one in rounds]
    assert [sorted(one) for one in kinds] == [sorted(kinds[0])] * 3
    assert len({tuple(one) for one in kinds}) == 3
    assert Counter(way for _, way in kinds[0]) == {"restart": 5, "once": 3}
    assert runs == runs_of(plan)
    other = runs_of(small_plan(text='ways = ["restart", "once"]\nseed = 5\n' + TEXT))
    assert runs != other
    assert {run.key for run in runs} == {run.key for run in other}
    assert len({run.key for run in runs}) == len(runs)


def test_keys_tell_apart_what_makes_a_difference_and_nothing_else() -> None:
    keys = {run.key for run in runs_of(small_plan())}
    same = TEXT.replace('"true"\n', '"true"\ntime_limit = "1 s"\nwarm_up = 3\n')
    assert {run.key for run in runs_of(small_plan(text=same))} == keys
    changed = {run.key for run in runs_of(small_plan(text=TEXT.replace('"-x"', '"-y"')))}
    assert len(changed & keys) == 6  # those of a alone


def test_members_change_places_and_keep_to_physical_cores() -> None:
    runs = [run for run in runs_of(small_plan()) if run.experiment.group == "a + b"]
    assert {tuple(member.cores for member in run.experiment.members) for run in runs} == {((0,), (2,)), ((2,), (0,))}
    alone = [run.experiment.members[0].cores for run in runs_of(small_plan()) if run.experiment.group == "a"]
    assert sorted(alone) == [(0,), (0,), (2,)]  # where pairs are
    assert cores_used(small_plan(), MACHINE) == (0, 2)


def test_members_that_were_to_be_separate_share_cores_when_these_run_out() -> None:
    plan = small_plan('[together]\ngroups = [["a", "a", "b"]]')
    found = {run.experiment.group: [member.cores for member in run.experiment.members] for run in runs_of(plan)}
    shared = [group for group, cores in found.items() if place_notes(plan, MACHINE, cores) == [SHARED_CORES]]
    assert shared == ["2 a + b"]
    asked_for = small_plan(text=f'cores = "siblings"\n{TEXT}')
    assert not place_notes(asked_for, MACHINE, [(0,), (1,)])


@pytest.mark.parametrize(
    ("cores", "used"), [('"separate"', {0, 1, 2, 3}), ('"siblings"', {0, 1, 2, 3}), ("[0, 2, 4, 5]", {0, 2, 4, 5})]
)
def test_fast_and_slow_cores_take_turns_only_where_they_are_named(cores: str, used: set[int], tmp_path: Path) -> None:
    machine = read_machine(trees.hybrid(tmp_path))
    plan = small_plan('[together]\ngroups = [["a", "a", "b", "b"]]', f"cores = {cores}\n{TEXT}")
    runs = [[member.cores for member in run.experiment.members] for run in runs_of(plan, machine)]
    assert {core for members in runs for place in members for core in place} == used
    noted = [MIXED_KINDS in place_notes(plan, machine, members) for members in runs]
    assert noted == [cores.startswith("[")] * len(runs)


def test_more_members_than_fast_cores_need_a_list(tmp_path: Path) -> None:
    told = refused('[together]\ngroups = [["a", "a", "a", "a", "b"]]', machine=read_machine(trees.hybrid(tmp_path)))
    assert "there are 4 cores of the fastest kind for 5 programs" in told
    assert "name slower ones too: cores = [0, 2, 4, 5, 6]" in told


def test_a_program_that_has_slow_cores_for_itself_is_compared_with_itself(tmp_path: Path) -> None:
    machine, plan = read_machine(trees.hybrid(tmp_path)), small_plan()
    assert place_notes(plan, machine, [(0,), (4,)]) == []
    assert place_notes(plan, machine, [(3, 4)]) == [MIXED_KINDS]


def test_members_with_more_cores_than_a_control_group_grants_are_noted() -> None:
    limited = replace(FOUR, core_quota=1.5)
    anywhere = small_plan(text=f'cores = "any"\n{TEXT}')
    assert place_notes(small_plan(), limited, [(0,), (1,)]) == [BEYOND_QUOTA]
    assert place_notes(small_plan(), limited, [(0,)]) == place_notes(anywhere, limited, [(0, 1, 2, 3)]) == []


@pytest.mark.parametrize(
    ("cores", "used"),
    [
        ('"siblings"', {((0,), (1,)), ((1,), (0,))}),
        ('"any"', {((0, 1, 2, 3), (0, 1, 2, 3))}),
        ("[3, 1]", {((3,), (1,)), ((1,), (3,))}),
        ("[[0, 1], [3, 2]]", {((0, 1), (2, 3)), ((2, 3), (0, 1))}),
    ],
)
def test_cores_are_those_asked_for(cores: str, used: set[object]) -> None:
    runs = [run for run in runs_of(small_plan(text=f"cores = {cores}\n{TEXT}")) if run.experiment.group == "a + b"]
    assert {tuple(member.cores for member in run.experiment.members) for run in runs} == used


def test_a_program_with_cores_of_its_own_keeps_them() -> None:
    own = TEXT.replace('"true"\n', '"true"\ncores = [2]\n')
    more = '[together]\npairs = [["a", "b"]]'
    runs = [run for run in runs_of(small_plan(more, own)) if run.experiment.group == "a + b"]
    assert {tuple(member.cores for member in run.experiment.members) for run in runs} == {((2,), (0,))}
    assert "cannot run with others that have the same" in refused("", own)


def test_cores_that_are_not_there_and_groups_that_are_too_large_are_told() -> None:
    assert "small.toml: cores: found core 9; cores that are there and may be used: 0, 1, 2, 3" in refused(
        "", f"cores = [0, 9]\n{TEXT}"
    )
    assert "found core 1 twice" in refused("", f"cores = [[0, 1], [1]]\n{TEXT}")
    assert "found the group a + a + a + a + a; there are 4 cores for 5 programs" in refused(
        '[together]\ngroups = [["a", "a", "a", "a", "a"]]'
    )
    assert 'there is 1 place in `cores` for 2 programs; write pairs = "none" under [together]' in refused(
        "", f"cores = [0]\n{TEXT}"
    )
    assert "there are 0 logical cores with a sibling" in refused("", f'cores = "siblings"\n{TEXT}', FOUR)
    assert "this machine offers none" in refused('[clock]\nfrequencies = "all"')
    offering = replace(MACHINE, governors=("performance", "powersave"))
    assert "did you mean 'performance'?" in refused('[clock]\ngovernors = ["performnce"]', machine=offering)


def test_clocks_and_ways_multiply() -> None:
    more = '[clock]\nfrequencies = ["1.5 GHz", "2 GHz"]'
    runs = runs_of(small_plan(more))
    assert Counter(run.experiment.clock.label for run in runs) == {"1500 MHz": 15, "2000 MHz": 15}
    every = runs_of(small_plan('[clock]\nfrequencies = "all"'), replace(MACHINE, frequencies_mhz=(800.0,)))
    assert {run.experiment.clock.label for run in every} == {"800 MHz"}


@pytest.mark.parametrize(("n_programs", "size"), [(1, 3), (2, 2), (2, 4), (3, 3), (4, 4), (6, 4), (5, 8)])
def test_sampled_groups_tell_the_effect_of_every_program_on_every_other(n_programs: int, size: int) -> None:
    names = "abcdef"[:n_programs]
    every = [tuple(group) for group in combinations_with_replacement(names, size)]
    n = n_programs * (n_programs + 1) // 2
    chosen, needed = sample_groups(names, every, n, seed=3)
    assert len(set(chosen)) == min(n, len(every))
    assert needed <= n
    assert tells_all(names, chosen)
    assert not tells_all(names, chosen[: needed - 1])
    meetings = [sum(group.count(a) * group.count(b) for group in chosen) for a in names for b in names if a < b]
    assert max(meetings, default=0) <= 3 * min(meetings, default=0)


def test_samples_follow_the_seed_and_too_few_are_refused() -> None:
    six = 'name = "x"\n' + "".join(f'[[program]]\nname = "{name}"\ncommand = "true"\n' for name in "abcdef")
    first, second = (
        groups_of(small_plan("[together]\nsampled = [{ size = 4 }]", f"seed = {i}\n{six}")) for i in (0, 1)
    )
    assert len(first) == len(second) == 6 + 21 + 21
    assert first != second
    told = refused("[together]\nsampled = [{ size = 4, n = 5 }]", six, FOUR)
    assert "together.sampled[0].n: found 5" in told
    assert "groups of 4 are needed to tell the effect of every program on every other" in told
    told = refused("[together]\nsampled = [{ size = 2, n = 1000000 }]", six, FOUR)
    assert "found 1,000,000; must be 21 or less: there are no more groups of 2 to choose from" in told
    assert "groups of 40; must be 100,000 or fewer" in refused("[together]\nall_of_size = [40]", six)


def test_estimates_count_what_is_unknown_with_its_limit() -> None:
    runs = [run for run in runs_of(small_plan('[together]\npairs = "none"')) if run.repetition == 0]
    found = estimate(runs, {"a": 10.0, "other": 5.0}, is_warm=True)
    assert (found.n_runs, found.unknown) == (2, ("b",))
    assert found.seconds == pytest.approx(10.0 + 3600.0 + 2 * OVERHEAD_S)
    assert found.most_s == pytest.approx(7200.0 + 2 * OVERHEAD_S)
    assert found.least_s == pytest.approx(10.0 + 2 * OVERHEAD_S)
    assert estimate(runs, {"a": 10.0}, more_s=7.0).least_s == pytest.approx(20.0 + 7.0 + 4 * OVERHEAD_S)


def test_estimates_are_longer_at_lower_clocks() -> None:
    runs = runs_of(small_plan('[together]\npairs = "none"\n[clock]\nfrequencies = ["1 GHz", "4 GHz"]'))
    known = {"a": 1.0, "b": 2.0}
    seconds = estimate(runs, known, is_warm=True).seconds
    assert seconds == pytest.approx(3 * (1 + 4) * (1.0 + 2.0) + 12 * OVERHEAD_S)
    assert estimate(runs, known, top_mhz=8000.0, is_warm=True).seconds == pytest.approx(2 * seconds - 12 * OVERHEAD_S)


def test_estimates_never_pass_the_time_limits() -> None:
    runs = runs_of(small_plan('[clock]\nfrequencies = ["1 GHz", "4 GHz"]'))
    for known in ({}, {"a": 3000.0}, {"a": 9000.0, "b": 3500.0}):
        found = estimate(runs, known)
        assert found.least_s <= found.seconds <= found.most_s
    assert estimate(runs, {"a": 9000.0, "b": 3600.0}).seconds == found.most_s


def test_what_takes_long_must_be_agreed_to() -> None:
    least_s, most_s = 0.5 * LONG_S, 2 * LONG_S
    assert PlanEstimate(1, most_s, most_s, (), most_s).must_be_agreed_to is True
    assert PlanEstimate(1, most_s, most_s, ("a",), least_s).must_be_agreed_to is None
    assert PlanEstimate(1, least_s, most_s, (), least_s).must_be_agreed_to is False
