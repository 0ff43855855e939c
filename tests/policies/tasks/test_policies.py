"""Finding policies: the table, users' files and entry points, and what is said when one cannot be used."""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model import Status, UtilityShapes, World, linear, step
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.heuristic import find_policy, heuristic, installed_heuristics, installed_identity
from joulewise.policies.tasks.objectives import UTILITY
from joulewise.policies.tasks.pickers import at_random, in_turn
from joulewise.policies.tasks.policy import Objective, Policy, Value
from joulewise.policies.tasks.table import POLICIES
from joulewise.policies.user_files import is_file_spec
from joulewise.rng import generator
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from tests.strategies import heuristics
from tests.strategies.needs import fit_for
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

GOOD_FILE = """
import joulewise


@joulewise.heuristic(mode="batch", falls_with_time=True, title="Thrifty")
def thrifty(utility, completion_s, exec_s, energy_j, wait_s):
    '''Most utility per joule.

    More about it.
    '''
    return utility / energy_j
"""
SECOND_HEURISTIC = """

@joulewise.heuristic(mode="immediate")
def eager(utility, completion_s, exec_s, energy_j, wait_s):
    return -completion_s
"""

# The table


def test_the_table_is_keyed_by_name() -> None:
    assert list(POLICIES) == [policy.name for policy in POLICIES.values()]
    chapter_2 = {
        "random", "round-robin", "max-util", "max-upt", "met-random", "met-max-util", "k-best-types",
        "min-min-comp", "sufferage", "max-max-util", "max-max-upt", "met-max-util-max-upt",
    }  # fmt: skip
    chapters_3_and_4 = {
        "max-max-upe", "weighted-util", "weighted-upt", "weighted-upe", "random-batch",
        "fcfs-p0", "fcfs-all", "lcfs-p0", "lcfs-all",
        "prioritized-fcfs-p0", "prioritized-fcfs-all", "prioritized-lcfs-p0", "prioritized-lcfs-all",
    }  # fmt: skip
    assert chapter_2 | chapters_3_and_4 | {"prices"} <= set(POLICIES)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_every_row_describes_itself(policy: Policy) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", policy.name)
    assert policy.title
    assert policy.summary.endswith(".")
    assert policy.source
    assert find_policy(policy.name) is policy
    if policy.objective is not None:
        compiled(policy.objective)


# Names and files


@pytest.mark.parametrize(
    ("spec", "is_file"),
    [("max-util", False), ("mine.py", True), ("folder/mine.py:f", True), ("mine:f", False), ("", False)],
)
def test_what_names_a_file(spec: str, is_file: bool) -> None:
    assert is_file_spec(spec) == is_file


@pytest.mark.parametrize("spec", ["mine.py:thrifty", "mine.py"])
def test_a_heuristic_is_found_in_a_file(tmp_path: Path, spec: str) -> None:
    (tmp_path / "mine.py").write_text(GOOD_FILE)
    policy = find_policy(spec, folder=tmp_path)
    assert (policy.name, policy.title, policy.mode) == ("thrifty", "Thrifty", "batch")
    assert policy.summary == "Most utility per joule."
    assert policy.objective is not None
    assert policy.objective.falls_with_time
    assert simulate(busy_world(50), Manager(policy)).allocation.ran.any()


def test_a_file_with_two_heuristics_needs_a_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD_FILE + SECOND_HEURISTIC)
    assert find_policy("mine.py:eager", folder=tmp_path).mode == "immediate"
    with pytest.raises(InputError, match=r"must be one of mine\.py:thrifty, mine\.py:eager"):
        find_policy("mine.py", folder=tmp_path)


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD_FILE)
    find_policy("mine.py", folder=tmp_path)
    file.write_text(GOOD_FILE.replace("Thrifty", "Thriftier"))
    assert find_policy("mine.py", folder=tmp_path).title == "Thriftier"


def test_a_file_may_build_on_its_own_helpers(tmp_path: Path) -> None:
    helper = "import math\nWEIGHT = 2.0\n\n"
    (tmp_path / "mine.py").write_text(helper + GOOD_FILE.replace("utility / energy_j", "WEIGHT * math.sqrt(utility)"))
    policy = find_policy("mine.py", folder=tmp_path)
    assert policy.objective is not None
    assert compiled(policy.objective).ctypes(9.0, 0.0, 1.0, 1.0, 0.0) == 6.0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("max-utl", "study: found 'max-utl'; must be one of random, round-robin, .*did you mean 'max-util'"),
        ("Max-Max-UPT", "did you mean 'max-max-upt'"),
        ("", "must be one of random"),
        ("mine.py:thrfty", r"did you mean 'mine\.py:thrifty'"),
        ("missing.py:f", r"found no file .*missing\.py; give the path from the study's folder"),
        (
            "plain.py:f",
            r"found no policy in plain\.py; write @joulewise\.heuristic\(\) or @joulewise\.policy\(\) above",
        ),
        ("mixed.py:g", r"found 'mixed\.py:g', which is no policy; write @joulewise\.heuristic\(\) or"),
        ("broken.py", r"could not load .*broken\.py: SyntaxError"),
        ("leaves.py", r"could not load .*leaves\.py: SystemExit: 0; fix the file"),
        ("fails.py", r"could not load .*fails\.py: ZeroDivisionError: division by zero; fix the file"),
        (
            "parameters.py",
            r"parameters\.py: heuristic f: found the parameters \(utility, wait\); must be \(utility, completion_s",
        ),
        ("mode.py", "heuristic mode: found 'btch'; must be one of immediate, batch; did you mean 'batch'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, spec: str, said: str) -> None:
    files = {
        "mine.py": GOOD_FILE,
        "plain.py": "def f(): pass",
        "mixed.py": GOOD_FILE + "def g(): pass",
        "broken.py": "def f(:",
        "leaves.py": "import sys\nsys.exit(0)",
        "fails.py": "1 / 0",
        "parameters.py": "import joulewise\n@joulewise.heuristic()\ndef f(utility, wait): return utility",
        "mode.py": "import joulewise\njoulewise.heuristic(mode='btch')",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        find_policy(spec, "study", tmp_path)


# Entry points


def _install(monkeypatch: pytest.MonkeyPatch, **targets: str) -> None:
    points = EntryPoints(EntryPoint(name, target, "joulewise.heuristics") for name, target in targets.items())
    module = importlib.import_module("joulewise.policies.tasks.heuristic")  # not the function of that name
    monkeypatch.setattr(module, "entry_points", lambda **wanted: points.select(**wanted))


def test_an_installed_heuristic_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, longest="tests.strategies.heuristics:A_POLICY")
    assert find_policy("longest").title == "longest_wait (batch)"


def test_installed_heuristics_are_among_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, longest="tests.strategies.heuristics:A_POLICY")
    with pytest.raises(InputError, match="did you mean 'longest'"):
        find_policy("longst")


def test_a_table_row_comes_before_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, random="tests.strategies.heuristics:A_POLICY")
    assert find_policy("random") is POLICIES["random"]


def test_an_entry_point_must_give_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, wrong="math:pi")
    with pytest.raises(InputError, match=r"the entry point 'wrong' gives float; must be a function decorated with"):
        find_policy("wrong")


@pytest.mark.parametrize("target", ["no_such_package_here:f", "math:no_such_name"])
def test_a_broken_entry_point_is_a_user_error(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    _install(monkeypatch, wrong=target)
    with pytest.raises(InputError, match="wrong"):
        find_policy("wrong")


# Objectives that cannot be used


def _makes_text(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return str(utility)  # type: ignore[return-value]


def _opens_a_file(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    with open("file") as file:
        return float(file.read())


def _no_such_name(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utilty  # type: ignore[name-defined,no-any-return]  # noqa: F821


def _forgets_to_return(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    if utility > 1.0:
        return utility
    return None  # type: ignore[return-value]


@pytest.mark.parametrize("value", [_makes_text, _opens_a_file, _no_such_name, _forgets_to_return])
def test_what_cannot_be_compiled_is_told(value: Value) -> None:
    policy = heuristic()(value)
    world = World(simple_system(), simple_workload())
    with pytest.raises(
        InputError, match=f"test_policies.py: heuristic {value.__name__}: could not be compiled: .*; use arithmetic"
    ):
        simulate(world, Manager(policy))


def _waits(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return wait_s


def _rises_late(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility if wait_s < 1000.0 else utility + 10.0


@pytest.mark.parametrize("value", [_waits, _rises_late])
def test_a_false_claim_is_told(value: Value) -> None:
    said = (
        r"rises from .* wait_s .*; declared falls_with_time, so waiting must never raise it; leave falls_with_time out"
    )
    with pytest.raises(InputError, match=said):
        compiled(Objective(value, falls_with_time=True))
    compiled(Objective(value))


@pytest.mark.parametrize("value", [_waits, UTILITY.value])
def test_a_false_claim_of_tasks_of_one_type_is_told(value: Value) -> None:
    with pytest.raises(InputError, match=r"changes with utility or waiting at .*; declared by_type, so it must see"):
        compiled(Objective(value, by_type=True))


def _not_a_number(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return math.log(utility - 1.0)


def test_a_value_must_be_a_number() -> None:
    with pytest.raises(InputError, match="is not a number at utility"):
        compiled(Objective(_not_a_number))


# Pickers


@pytest.mark.parametrize("picker", [at_random, in_turn])
def test_pickers_pick_machines_that_can_run_the_task(picker: Callable[..., np.ndarray]) -> None:
    world = busy_world(500)
    machine = picker(world, world.system.can_run, generator(0, "test"))
    kind = world.system.machine_type[machine]
    assert world.system.can_run[world.workload.task_type, kind].all()


def test_random_is_even() -> None:
    world = World(simple_system([[1.0, 1.0]], [3, 5]), simple_workload([0.0] * 8000))
    n_each = np.bincount(at_random(world, world.system.can_run, generator(0, "test")), minlength=8)
    assert ((n_each > 850) & (n_each < 1150)).all()


def test_round_robin_takes_turns() -> None:
    world = World(simple_system([[1.0]], [5]), simple_workload([0.0] * 20))
    machine = in_turn(world, world.system.can_run, generator(0, "test"))
    assert sorted(machine[:5]) == [0, 1, 2, 3, 4]
    assert machine.tolist() == machine[:5].tolist() * 4


def test_round_robin_skips_machines_that_cannot_run_the_task() -> None:
    """On a ring of three where only two can run type 1, both of them serve it in turn."""
    system = simple_system([[1.0, 1.0], [math.inf, 1.0]], [1, 2])
    world = World(system, simple_workload([0.0] * 6, [1] * 6))
    machine = in_turn(world, world.system.can_run, generator(0, "test")).tolist()
    assert sorted(machine[:2]) == [1, 2]
    assert machine == machine[:2] * 3


@pytest.mark.parametrize("name", ["random", "round-robin", "met-random", "random-batch"])
def test_naive_rows_follow_seed_and_trial(name: str) -> None:
    world, manager = busy_world(200), Manager(POLICIES[name])

    def machines(seed: int, trial: int) -> list[int]:
        return list(simulate(world, manager, seed, trial).allocation.machine)

    assert machines(0, 0) == machines(0, 0)
    assert machines(0, 0) != machines(1, 0)
    assert machines(0, 0) != machines(0, 1)


# What was edited


def test_an_edited_file_is_never_run_as_it_was(tmp_path: Path) -> None:
    """The same size and the same time of change: bytecode kept beside the file would pass for new."""
    path = tmp_path / "mine.py"
    path.write_text(GOOD_FILE.replace("Thrifty", "Thrift1"))
    os.utime(path, (1e9, 1e9))
    assert find_policy("mine.py", folder=tmp_path).title == "Thrift1"
    path.write_text(GOOD_FILE.replace("Thrifty", "Thrift2"))
    os.utime(path, (1e9, 1e9))
    assert find_policy("mine.py", folder=tmp_path).title == "Thrift2"
    assert [found.name for found in tmp_path.iterdir()] == ["mine.py"]


def test_an_installed_heuristic_is_known_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, longest="tests.strategies.heuristics:A_POLICY", random="tests.strategies.heuristics:A_POLICY")
    source = Path(heuristics.__file__).read_bytes()
    identity = installed_identity("longest")
    assert identity == f"tests.strategies.heuristics:A_POLICY of no distribution, {hashlib.sha256(source).hexdigest()}"
    assert installed_identity("random") is None
    assert installed_identity("max-utl") is None
    assert installed_heuristics() == ["longest"]


def test_a_heuristic_that_looks_at_energy_needs_power_figures() -> None:
    @heuristic(falls_with_time=True)
    def thrifty(utility, completion_s, exec_s, energy_j, wait_s):  # type: ignore[no-untyped-def]
        return utility / energy_j

    with pytest.raises(InputError, match="no power figures"):
        simulate(World(simple_system(), simple_workload()), Manager(thrifty))


def test_a_value_that_rises_unseen_by_the_samples_voids_the_run() -> None:
    @heuristic(falls_with_time=True)
    def sneaky(utility, completion_s, exec_s, energy_j, wait_s):  # type: ignore[no-untyped-def]
        return utility / exec_s + (10.0 if 3000.0 < completion_s < 3300.0 else 0.0)

    with pytest.raises(InputError, match="rose with waiting"):
        simulate(busy_world(), Manager(sneaky))


def test_a_heuristic_that_raises_is_refused() -> None:
    @heuristic()
    def raiser(utility, completion_s, exec_s, energy_j, wait_s):  # type: ignore[no-untyped-def]
        if utility > 3:
            raise ValueError("no")
        return utility

    with pytest.raises(InputError, match="fails or is not a number"):
        simulate(busy_world(), Manager(raiser))


# The best machine types

FASTEST_FIRST = [[4.0, 2.0, 2.0, 1.0], [1.0, math.inf, 3.0, 9.0]]
"""By task type and machine type; of the last machine type there is none in the tests below."""


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, [[1], [0]]), (2, [[1, 2], [0, 2]]), (3, [[0, 1, 2], [0, 2]]), (None, [[0, 1, 2], [0, 2]])],
)
def test_best_types_are_the_fastest_that_have_machines(n: int | None, expected: list[list[int]]) -> None:
    allowed = simple_system(FASTEST_FIRST, [1, 1, 1, 0]).best_types(n)
    assert [np.flatnonzero(row).tolist() for row in allowed] == expected


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_a_restricted_policy_keeps_to_the_best_types(policy: Policy) -> None:
    world = World(simple_system(FASTEST_FIRST, [1, 2, 1, 0]), simple_workload([0.0] * 12, [0, 1] * 6))
    world = fit_for(policy, world)
    allocation = simulate(world, Manager(policy, best_types=1)).allocation
    assert world.system.machine_type[allocation.machine].tolist() == [1, 0] * 6


def test_the_managers_number_of_types_goes_before_the_policys() -> None:
    policy = POLICIES["k-best-types"]
    assert Manager(policy).n_types == 2
    assert Manager(policy, best_types=5).n_types == 5
    with pytest.raises(InputError, match=r"manager\.best_types: found 0; must be 1 or more"):
        Manager(policy, best_types=0)


def test_k_best_types_lies_between_met_and_max_util() -> None:
    world = busy_world(300)

    def machines(name: str, best_types: int | None = None) -> list[int]:
        return list(simulate(world, Manager(POLICIES[name], best_types=best_types)).allocation.machine)

    assert machines("k-best-types", 1) == machines("met-max-util")
    assert machines("k-best-types", world.system.n_machine_types) == machines("max-util")
    assert machines("k-best-types") not in (machines("met-max-util"), machines("max-util"))


@pytest.mark.parametrize(("n_slow", "fate"), [(1, Status.RAN), (0, Status.DROPPED)])
def test_batch_mode_drops_only_what_no_machine_at_all_can_do_in_time(n_slow: int, fate: Status) -> None:
    """At 1 s the last task is too late for the fast machine; while the slow one would do, it stays in the queue."""
    world = World(simple_system([[2.0, 3.0]], [1, n_slow]), simple_workload([0.0] * 3, shape=step(4.2)))
    manager = Manager(POLICIES["met-max-util-max-upt"], 0.5, 1.0)
    assert simulate(world, manager).allocation.status.tolist() == [Status.RAN, Status.RAN, fate]


# Sufferage


def test_the_machine_goes_to_whoever_would_lose_most() -> None:
    """Both ask for the first machine; on the other one the first task still earns all, the second one nothing."""
    world = World(simple_system([[2.0, 3.0], [2.0, 9.0]]), simple_workload([0.0, 0.0], [0, 1], step(5.0)))
    machine = simulate(world, Manager(POLICIES["sufferage"])).allocation.machine
    assert machine.tolist() == [1, 0]
    machine = simulate(world, Manager(POLICIES["max-max-util"])).allocation.machine
    assert machine.tolist() == [0, 0]


def test_a_second_machine_of_the_same_type_spares_a_task() -> None:
    """With two machines of the first type nobody loses, so both tasks get one in order of arrival."""
    world = World(simple_system([[2.0, 3.0], [2.0, 9.0]], [2, 1]), simple_workload([0.0, 0.0], [0, 1], step(5.0)))
    machine = simulate(world, Manager(POLICIES["sufferage"])).allocation.machine
    assert machine.tolist() == [0, 1]


# Weights


WEIGHTED = [policy for policy in POLICIES.values() if policy.is_weighted]


@pytest.mark.parametrize("policy", WEIGHTED, ids=lambda policy: str(policy.name))
def test_worthless_work_leaves_energy_alone_to_decide(policy: Policy) -> None:
    world = World(simple_system([[1.0, 1.0]], power_w=[[9.0, 3.0]]), simple_workload([0.0], scale=0.0))
    assert simulate(world, Manager(policy)).allocation.machine.tolist() == [1]


@pytest.mark.parametrize("name", ["weighted-util", "weighted-upt"])
def test_energy_that_is_free_leaves_utility_alone_to_decide(name: str) -> None:
    system = simple_system([[2.0, 1.0]], power_w=[[0.0, 0.0]])
    world = World(system, simple_workload([0.0], shape=linear(10.0)))
    assert simulate(world, Manager(POLICIES[name])).allocation.machine.tolist() == [1]


def test_utility_per_joule_is_not_weighed_where_energy_is_free() -> None:
    world = World(simple_system([[2.0, 1.0]], power_w=[[5.0, 0.0]]), simple_workload())
    with pytest.raises(InputError, match="divides by energy, but a choice of the system uses none; give powers above"):
        simulate(world, Manager(POLICIES["weighted-upe"]))


def test_an_urgency_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"heuristic urgency: found 1\.5; must be from 0"):
        heuristic(urgency=1.5)


def test_a_heuristic_of_ones_own_sees_what_waiting_loses() -> None:
    """The second task, worth 2 for ever, would win by utility; the first one, worth 1 for 4 s, loses all by waiting."""
    shapes = UtilityShapes.of([step(4.0)._replace(name="soon"), step(1e9)._replace(name="ever")])
    work = replace(simple_workload([0.0, 0.0]), shape=np.array([0, 1]), scale=np.array([1.0, 2.0]), shapes=shapes)
    world = World(simple_system([[3.0]]), work)
    for urgency, falls, starts_s in ((0.0, True, [3.0, 0.0]), (1.0, True, [0.0, 3.0]), (1.0, False, [0.0, 3.0])):
        policy = heuristic(urgency=urgency, falls_with_time=falls)(heuristics.worth_of)
        assert simulate(world, Manager(policy, mapping_interval_s=1.0)).allocation.start_s.tolist() == starts_s
