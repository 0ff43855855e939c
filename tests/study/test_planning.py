"""Runs and their keys: what changes them and what must not."""

from __future__ import annotations

import hashlib
import importlib
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from joulewise.errors import InputError
from joulewise.study import Run, parse_study, plan, run_study
from joulewise.study.kinds.systems import kind_of
from joulewise.study.running.estimate import Estimate, estimate
from joulewise.study.running.pace import pace
from joulewise.study.spec.parts import Fingerprints, Part, _values_of
from joulewise.study.spec.source import Draw
from joulewise.worlds.tasks.day import WorkloadParameters
from tests.strategies.small import HEURISTIC, TEXT, WORKLOAD, small

Change = Callable[[str], str]


def keys(change: Change = lambda text: text, folder: Path = Path()) -> list[str]:
    return [run.key for run in plan(small(change, folder))]


def test_every_point_has_every_trial_and_policies_share_worlds() -> None:
    runs = plan(small())
    assert [run.trial for run in runs] == [0, 1] * 4
    assert len({run.key for run in runs}) == 8
    worlds = {run.trial: {other.world_key for other in runs if other.trial == run.trial} for run in runs}
    assert all(len(found) == 1 for found in worlds.values())
    assert len(set.union(*worlds.values())) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("trials = 2", "trials = 5"),
        lambda text: text.replace('"random", ', '"random", "max-util", '),
        lambda text: text.replace("[0, 0.5]", "[0, 0.25, 0.5]"),
    ],
    ids=["trials", "policy", "threshold"],
)
def test_what_is_added_changes_no_key(change: Change) -> None:
    assert set(keys()) < set(keys(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"small"', '"other"'),
        lambda text: text.replace('"10 min"', '"600 s"'),
        lambda text: text.replace("[manager]", '[manager]\nmapping_interval = "1 min"'),
        lambda text: text.replace("[0, 0.5]", "[0.0, 5e-1]"),
        lambda text: text + '[[variant]]\nname = "same"\n',
        lambda text: text.replace("[manager]", "[manager]\npreempts = false"),
    ],
    ids=["name", "unit", "default", "spelling", "variant", "late"],
)
def test_what_means_the_same_keeps_the_keys(change: Change) -> None:
    assert keys(change) == keys()


def test_a_late_field_at_its_default_is_no_part_of_keys() -> None:
    """Results that were stored before there was such a field are found again."""
    late = [field.name for field in fields(WorkloadParameters) if field.metadata.get("late")]
    assert "rising_share" in late
    plain, rising = (_values_of(WorkloadParameters(rising_share=share)) for share in (0.0, 0.5))
    assert plain.keys().isdisjoint(late)
    assert rising.keys() - plain.keys() == {"rising_share"}
    parts = [Part("workload", "day", WorkloadParameters(rising_share=share)) for share in (0.0, 0.5)]
    assert len({Fingerprints(Path()).of_part(part) for part in parts}) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("trials = 2", "trials = 2\nseed = 1"),
        lambda text: text.replace("= 150", "= 151"),
        lambda text: text.replace("[2, 3]", "[2, 4]"),
        lambda text: text.replace("[manager]", '[manager]\nmapping_interval = "2 min"'),
    ],
    ids=["seed", "workload", "system", "manager"],
)
def test_what_means_something_else_changes_every_key(change: Change) -> None:
    assert not set(keys()) & set(keys(change))


def test_a_named_file_counts_by_its_content(tmp_path: Path) -> None:
    def with_file(name: str, text: str) -> set[str]:
        (tmp_path / name).write_text(text)
        study = parse_study(TEXT.replace("random", f"{name}:mine"), "study.toml", tmp_path)
        return {run.key for run in plan(study) if run.point.decision.parameters.policy != "max-max-upt"}

    first = with_file("mine.py", HEURISTIC)
    assert with_file("moved.py", HEURISTIC) == first
    assert not with_file("mine.py", HEURISTIC + "# changed") & first


OTHER = 'name = "other"\ntrials = 3\nseed = 7\n'
OTHERS = {
    "jobs": '[workload]\ngenerator = "parallel-day"\n[scheduler]\npolicy = ["easy", "random"]',
    "bags": '[system]\ngenerator = "nine-machines"\n[workload]\ngenerator = "bag"\n[optimise]\ngoal = "front"',
    "assignments": (
        '[system]\ngenerator = "nine-machines"\n[workload]\ngenerator = "known"\n'
        '[optimise]\ngoal = "utility"\nmethod = ["annealing", "nsga2"]'
    ),
    "facility": (
        '[system]\ngenerator = "facility"\nnodes = 20\n[workload]\ngenerator = "flows"\n'
        '[optimise]\ngoal = "reward"\nday = ["0 h", "1 h"]'
    ),
}


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        (TEXT, "8d05b1d7dcc667a4"),
        (TEXT + "preempts = [true, false]", "735d29a3e5a366df"),
        (TEXT + "[tune]\ntrials = 3", "e77007ef9e5c491c"),
        (TEXT + '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\nworkload.tasks_per_day = 160', "d5ba6c5f2b2a8bbb"),
        (OTHER + OTHERS["jobs"], "910822720a817f6f"),
        (OTHER + OTHERS["bags"], "835e0b4e62f38279"),
        (OTHER + OTHERS["assignments"], "e1436c2cd7c14ae6"),
        (OTHER + OTHERS["facility"], "4390e8745889d14c"),
    ],
    ids=["tasks", "pieces", "tuning", "variants", *OTHERS],
)
def test_keys_stay_what_they_are(text: str, pinned: str) -> None:
    """Results that are stored somewhere are found by them; a change of them must raise the version of results."""
    runs = plan(parse_study(text, "study.toml", Path()))
    told = [(run.key, run.world_key, run.trial, run.bound, run.stage) for run in runs]
    assert hashlib.sha256(repr(told).encode()).hexdigest()[:16] == pinned


def test_points_that_come_to_the_same_are_computed_once(tmp_path: Path) -> None:
    same = '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n[[variant]]\nname = "c"\nworkload.tasks_per_day = 160\n'
    found = estimate(small(lambda text: 'keep = "none"\n' + text + same), tmp_path / "out")
    assert (found.n_runs, found.n_missing, found.n_stored) == (24, 16, 0)


def test_codes_are_the_same_where_keys_are(tmp_path: Path) -> None:
    """Of points without chance, too, which are in worlds that all trials share."""
    (tmp_path / "tasks.csv").write_text("arrival_s,task_type,utility,max_utility\n0,general-0,constant,1\n")
    table = '[[variant]]\nname = "{0}"\nworkload = {{ tasks = "tasks.csv" }}\n'
    drawn = '[[variant]]\nname = "{0}"\n'
    text = TEXT + "".join(map(str.format, (table, drawn, table, drawn), "abcd"))
    runs = plan(parse_study(text, "study.toml", tmp_path))
    for name in ("run", "world"):
        pairs = set(zip(runs.table[name], runs.codes[name], strict=True))
        assert len(pairs) == runs.table[name].n_unique() == runs.codes[name].n_unique() < len(runs)
    assert runs.table["keep"].equals(runs.codes["keep"])


def test_a_plan_is_a_sequence_of_its_runs() -> None:
    runs = plan(small())
    there = list(runs)
    assert [runs[at] for at in range(-len(runs), 0)] == there
    assert runs[1:6:2] == there[1:6:2]
    assert runs[5:5] == []
    rows = [(int(run.key, 16), int(run.world_key, 16), run.bound, run.keep) for run in there]
    assert rows == runs.table.rows()
    with pytest.raises(IndexError):
        _ = runs[len(runs)]


@pytest.mark.parametrize(("keep", "kept"), [("first", {0}), ("all", {0, 1}), ("none", set())])
def test_keep_names_the_runs_with_details(keep: str, kept: set[int]) -> None:
    runs = plan(small(lambda text: f'keep = "{keep}"\n' + text))
    assert {run.trial for run in runs if run.keep} == kept


def test_a_run_says_what_it_is_in_columns_with_units() -> None:
    run: Run = plan(small())[-1]
    cells = run.cells()
    assert cells["manager.policy"] == "max-max-upt"
    assert cells["manager.mapping_interval_s"] == 60.0
    assert cells["system.general_counts"] == "[2, 3]"
    assert (cells["system.generator"], cells["trial"], cells["variant"]) == ("oversubscribed", 1, None)


def test_the_supply_belongs_to_the_world_and_its_tables_count_by_content(tmp_path: Path) -> None:
    def worlds(prices: str, **changed: str) -> set[str]:
        (tmp_path / "prices.csv").write_text(prices)
        values = {"tariff": '"prices.csv"', "budget": '"1 GJ"', **changed}
        supply = "[supply]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
        return {run.world_key for run in plan(small(lambda text: text + supply, tmp_path))}

    first = worlds("hour,price\n0,1\n")
    assert first == worlds("hour,price\n0,1\n", budget='"1000 MJ"')
    assert len(worlds("hour,price\n0,1\n", budget='["1 GJ", "2 GJ"]') - first) == 2
    assert not first & worlds("hour,price\n0,2\n")
    assert not first & {run.world_key for run in plan(small())}
    runs = plan(small(lambda text: text + '[supply]\ntariff = "prices.csv"', tmp_path))
    assert [name for name, _ in runs[0].files] == ["prices.csv"]


def test_every_part_of_a_world_is_built(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("hour,price\n0,1\n")

    def change(text: str) -> str:
        system = 'mtbf = "1 h"\nmttr = "10 min"\nidle_power = "5 W"\n'
        supply = '[supply]\nbudget_total = "1 GJ"\ntariff = "prices.csv"\n'
        return text.replace("[workload]", f"{system}[workload]\ntime_spread = 0.2\ndays = 2") + supply

    (run, *_) = plan(small(change, tmp_path))
    world = kind_of(run.point.decision).build_world(run.point.world, Draw(0, 0, tmp_path))
    assert (world.supply.budget_j, world.supply.is_total) == (1e9, True)
    assert (world.workload.stretch is not None, world.system.standby is not None) == (True, True)
    assert world.outages.machine.size > 0
    assert world.workload.end_s == 600 + 2 * 7200


def test_thresholds_of_classes_are_a_table_in_a_cell_whatever_their_order() -> None:
    def with_table(table: str) -> Run:
        return plan(small(lambda text: text + f"class_thresholds = {table}"))[0]

    one = with_table("{special = 0.5, critical = 1}")
    assert one.key == with_table("{critical = 1.0, special = 0.5}").key
    assert one.cells()["manager.class_thresholds"] == '{"critical": 1.0, "special": 0.5}'


def test_an_installed_heuristic_counts_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("joulewise.policies.tasks.heuristic")  # not the function of that name

    def with_source(source: str) -> set[str]:
        monkeypatch.setattr(module, "installed_identity", lambda spec: {"mine": source}.get(spec))
        return set(keys(lambda text: text.replace("random", "mine")))

    assert with_source("package 1.0") == with_source("package 1.0")
    assert len(with_source("package 1.0") & with_source("package 1.1")) == 4  # those of the other policy


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates are those for two processors, however many this machine has."""
    monkeypatch.setattr("joulewise.study.running.estimate.available_cpus", lambda: 2)


def test_the_estimate_counts_bounds_and_the_plain_engine(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    (tmp_path / "slow.py").write_text(HEURISTIC.replace(", falls_with_time=True", ""))

    def seconds(file: str, bound: str) -> float:
        text = f'bound = "{bound}"\n' + TEXT.replace("random", f"{file}:mine").replace("= 150", "= 50_000")
        return estimate(parse_study(text, "study.toml", tmp_path), tmp_path / "out").seconds

    assert seconds("mine.py", "trivial") < seconds("mine.py", "prices") < seconds("slow.py", "prices")
    rising = TEXT.replace("= 150", "= 50_000\nrising_share = 0.1")
    found = estimate(parse_study(rising, "study.toml", tmp_path), tmp_path / "out").seconds
    assert found > 2 * seconds("mine.py", "prices")


def test_the_estimate_knows_true_times_in_a_table(tmp_path: Path) -> None:
    text = TEXT.replace(WORKLOAD, '[workload]\ntasks = "tasks.csv"\n').replace('"random", ', "")
    seconds = []
    for column, cell in (("", ""), (",stretch", ",1.25")):
        rows = [f"{i},general-0,constant,1{cell}" for i in range(5_000)]
        (tmp_path / "tasks.csv").write_text(
            "\n".join([f"arrival_s,task_type,utility,max_utility{column}", *rows]) + "\n"
        )
        seconds.append(estimate(parse_study(text, "study.toml", tmp_path), tmp_path / "out").seconds)
    assert seconds[1] > 2 * seconds[0]


def test_the_estimate_counts_the_bounds_of_small_days(tmp_path: Path) -> None:
    text = TEXT.replace("trials = 2", "trials = 400").replace("= 150", "= 1_000").replace("[0, 0.5]", "0")
    found = estimate(parse_study(text.replace('"random", ', ""), "study.toml", tmp_path), tmp_path / "out")
    ordinary_s = found.workers * found.seconds / pace()
    assert 328 / 2 < ordinary_s < 328 * 2  # as measured with two processes: 164 s
    assert 9.9e6 / 2 < found.bytes < 9.9e6 * 2


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize(
    ("section", "line", "least"),
    [
        ("manager", 'mapping_interval = "1 s"', 3),  # many more events
        ("manager", "permuted = 3", 3),
        ("system", "pstates = 3", 1.5),
        ("workload", "time_spread = 0.5", 1.5),
    ],
)
def test_the_estimate_knows_what_makes_a_day_slow(section: str, line: str, least: float, tmp_path: Path) -> None:
    day = {
        "system": ['generator = "oversubscribed"'],
        "workload": ['generator = "day"', "tasks_per_day = 50_000"],
        "manager": ['policy = "max-max-upt"', "dropping_threshold = 0.5"],
    }

    def seconds(lines: dict[str, list[str]]) -> float:
        sections = (f"[{name}]\n" + "\n".join(keys) for name, keys in lines.items())
        text = 'name = "slow"\ntrials = 200\nbound = "trivial"\n' + "\n".join(sections)
        return estimate(parse_study(text, "study.toml", tmp_path), tmp_path / "out").seconds

    assert seconds({**day, section: [*day[section], line]}) > least * seconds(day)
    assert seconds({**day, "manager": ['policy = "max-max-upt"']}) > 1.5 * seconds(day)  # nothing that waits is dropped


def test_the_estimate_knows_that_jobs_wait_where_none_are_dropped(tmp_path: Path) -> None:
    def seconds(policy: str, n_jobs: int) -> float:
        workload = f'[workload]\ngenerator = "parallel-day"\njobs_per_day = {n_jobs}\n'
        text = f'name = "jobs"\n{workload}[scheduler]\npolicy = "{policy}"'
        return estimate(parse_study(text, "study.toml", tmp_path), tmp_path / "out").seconds

    assert seconds("random", 20_000) > 2 * seconds("max-upt", 20_000)
    assert seconds("conservative", 20_000) > 1.5 * seconds("max-upt", 20_000)


def test_the_estimate_follows_the_pace_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = estimate(small(), tmp_path / "out")
    monkeypatch.setattr("joulewise.study.running.estimate.pace", lambda: 3 * pace())
    slow = estimate(small(), tmp_path / "out")
    assert slow.seconds == pytest.approx(3 * ordinary.seconds)
    assert slow.report_s == pytest.approx(3 * ordinary.report_s)


FACILITY_DAY = """
name = "day"
[system]
generator = "facility"
nodes = 20
[workload]
generator = "flows"
[optimise]
goal = "reward"
day = "{}"
"""


def test_the_estimate_of_a_facility_follows_the_length_of_its_day(tmp_path: Path) -> None:
    def found(day: str) -> Estimate:
        return estimate(parse_study(FACILITY_DAY.format(day), "study.toml", tmp_path), tmp_path / "out")

    hour, year = found("1 h"), found("3650 d")
    assert year.seconds > 5 * hour.seconds
    assert year.memory_bytes > 5 * hour.memory_bytes
    with pytest.raises(InputError, match=r"a run needs about .* of memory; this computer has"):
        found("100000000 d")


def test_what_there_is_no_memory_or_disk_for_is_refused_before_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.running.engines.engine.memory_limit", lambda: 1e6)
    monkeypatch.setattr("joulewise.study.running.needs.shutil.disk_usage", lambda _: SimpleNamespace(free=1e3))
    with pytest.raises(InputError) as caught:
        run_study(small(), tmp_path / "out", 1)
    memory, disk = caught.value.problems
    assert (memory.where, disk.where) == ("study.toml", str(tmp_path / "out"))
    assert "of memory" in memory.found
    assert "the disk has 1 kB left" in disk.allowed


def test_a_section_leaves_its_hash_behind_when_it_goes_to_another_process() -> None:
    """Texts have other hashes there."""
    part = small().points[0].decision
    assert hash(part) == hash(replace(part))
    there = pickle.loads(pickle.dumps(part))
    assert there == part
    assert not [name for name in vars(there) if "hash" in name]
