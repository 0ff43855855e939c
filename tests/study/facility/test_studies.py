"""Studies of a facility end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from joulewise.cli.result import show_summary
from joulewise.errors import InputError
from joulewise.study import Results, Study, open_results, parse_study, plan, run_study, verify
from joulewise.study.facility.methods import METHODS
from joulewise.study.kinds.case import NOT_CHECKED
from joulewise.study.parsing.schema import study_keys
from joulewise.study.spec.column import CORES, CRACS, NODES, PROGRESS, RATES, RUNS
from joulewise.study.spec.trials import STAGE
from joulewise.study.store.store import Store
from tests.strategies.proofs import alter_texts
from tests.strategies.small import lasting
from tests.strategies.small_facility import TABLED

TEXT = """
name = "facility"
trials = 2

[system]
generator = "facility"
nodes = 6
cracs = 2

[workload]
generator = "flows"
task_types = 4

[optimise]
goal = "reward"
"""
TABLES = {
    "types.csv": "type,cores,processors,overhead_w,core_w\nFujitsu TX140,4,1,18.9,9.1\n",
    "nodes.csv": "node,type\na,Fujitsu TX140\nb,Fujitsu TX140\n",
    "cracs.csv": "crac,coldest_c\nc,10\n",
    "heat.csv": "taker,source,share\na,c,1\nb,c,1\nc,a,0.5\nc,b,0.5\n",
    "tasks.csv": "task_type,rate_per_s,class\nx,3,heavy\ny,3,light\n",
    "speeds.csv": "task_type,node_type,speed_per_s,power_w\nx,Fujitsu TX140,1,9\ny,Fujitsu TX140,0.7,9\n",
}
SEVERAL = 'method = ["configurations", "greedy", "greedy-spread", "gacl"]\npopulation = 4\ngenerations = 3\n'


def study_of(text: str, folder: Path = Path()) -> Study:
    return parse_study(text, "study.toml", folder, check_inputs=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_study(study_of(TEXT + SEVERAL), tmp_path_factory.mktemp("facility"), 1)


def test_every_run_is_done_and_holds(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    verdicts = verify(results.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (results.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(results: Results) -> None:
    store, run = Store(results.folder), results.runs["run"][0]
    kind = results.study.kind
    documented = {table: [c.name for c in kind.all_columns() if c.table == table]
                  for table in (NODES, CRACS, CORES, RATES, PROGRESS, RUNS)}  # fmt: skip
    for table in kind.tables:
        assert store.read_table(store.detail_file(table, run)).columns == documented[table]
    assert {name for name in results.runs.columns if "." not in name} == set(documented[RUNS]) - {STAGE}
    assert {name for name in results.runs.columns if "." in name} <= {key.column for key in study_keys()}


def test_plans_keep_their_limits_and_stay_below_the_bound(results: Results) -> None:
    runs = results.runs
    assert (runs["cap_margin_w"] >= -1e-6 * runs["cap_w"]).all()
    assert (runs["redline_margin_k"] >= -1e-6).all()
    assert (runs["slowed_reward_per_s"] <= runs["reward_bound_per_s"] * (1 + 1e-9)).all()
    assert (runs["slowed_reward_per_s"] <= runs["reward_per_s"]).all()
    bounds = runs.group_by("world").agg(pl.col("reward_bound_per_s").n_unique().alias("n"))
    assert bounds["n"].to_list() == [1, 1]


def test_tables_add_up_to_what_runs_say(results: Results) -> None:
    (run,) = results.runs.filter((pl.col("optimise.method") == "greedy") & (pl.col("trial") == 0)).iter_rows(named=True)
    nodes, cracs, cores, rates, progress = (
        results.details(table).filter(pl.col("run") == run["run"]) for table in results.study.kind.tables
    )
    assert nodes["power_w"].sum() == pytest.approx(run["nodes_w"])
    assert cracs["power_w"].sum() == pytest.approx(run["cooling_w"])
    assert cracs["heat_w"].sum() == pytest.approx(run["nodes_w"])
    assert nodes["inlet_c"].max() == pytest.approx(run["hottest_inlet_c"])
    assert cores["core"].n_unique() == run["cores"] - run["n_idle_cores"] == nodes["cores"].sum() - run["n_idle_cores"]
    done = pl.min_horizontal("arrival_per_s", "slowed_per_s")
    assert rates.select((pl.col("reward") * done).sum()).item() == pytest.approx(run["slowed_reward_per_s"])
    assert progress["crr_percent"][-1] == pytest.approx(run["crr_percent"])


def test_what_is_stored_is_found_again(results: Results) -> None:
    again = run_study(study_of(results.study.source), results.folder, 1)
    assert again.runs.equals(results.runs)
    assert lasting(open_results(results.folder).runs).equals(lasting(results.runs))


def test_the_best_plan_is_told_in_words(results: Results) -> None:
    best, drawn, to_set = results.study.kind.sentences(results.runs, results.study.axes)
    assert best.startswith("Configurations (trial ")
    assert "% of all reward in a simulated day; its plan has " in best
    assert "%, if no task has to wait; no plan has more than " in best
    assert drawn.startswith("The plan draws ")
    assert to_set.startswith("Set CRAC 0 to ")
    assert "the cap binds, another 10 W earns" in to_set


def test_a_search_that_time_ended_is_not_done_again(tmp_path: Path) -> None:
    text = TEXT + 'method = "gacl"\ntime_limit = "1 ms"\npopulation = 4\n'
    kept, other = verify(run_study(study_of(text), tmp_path, 1).folder)
    assert (kept.problems, other.problems) == ((), ())
    assert kept.notes[0].startswith("why_stopped not compared: what was decided depended on how long")
    assert other.notes[0].startswith(NOT_CHECKED)


def test_a_search_that_a_clock_ends_is_timed() -> None:
    study = parse_study(TEXT + 'method = "gacl"\ntime_limit = "1 s"\n', "study.toml", Path())
    assert [study.kind.is_timed(part) for part in study.decisions] == [True]
    usual = parse_study(TEXT, "study.toml", Path())
    assert [usual.kind.is_timed(part) for part in usual.decisions] == [False]


def test_equation_10_as_printed_has_no_bound(tmp_path: Path) -> None:
    text = TEXT.replace("trials = 2", "") + 'method = "greedy"\nas_printed = [false, true]\n'
    runs = run_study(study_of(text), tmp_path, 1).runs
    plain, printed = runs.iter_rows(named=True)
    assert printed["gap_percent"] is printed["value_per_kw"] is None
    assert printed["slowed_reward_per_s"] >= plain["slowed_reward_per_s"]
    assert {verdict.problems for verdict in verify(tmp_path)} == {()}


def test_a_cap_in_watts_takes_the_place_of_the_share() -> None:
    study = study_of(TEXT + '[supply]\npower_cap = ["1 kW", "2 kW"]\n')
    assert study.axes == ("supply.power_cap_w", "optimise.method")
    assert len(plan(study)) == 4


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Results:
    text = TEXT.replace("trials = 2", "") + 'method = "greedy"\n'
    return run_study(study_of(text), tmp_path_factory.mktemp("greedy"), 1)


def change_cores(store: Store, run: str) -> None:
    path = store.detail_file(CORES, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("share") * 1.5))


def change_nodes(store: Store, run: str) -> None:
    path = store.detail_file(NODES, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("inlet_c") + 0.1))


def change_runs(store: Store, _: str) -> None:
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(pl.col("crr_percent") + 1))


def change_bound(value: str, store: Store, _: str) -> None:
    alter_texts(store, lambda text: text.replace('"value": ', f'"value": {value}, "true": '))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_cores, "cores: share"),
        (change_nodes, "nodes: inlet_c"),
        (change_runs, "runs: crr_percent"),
        (partial(change_bound, "1e-9"), "bounds: 1e-09 is stored"),
        (partial(change_bound, "1e9"), "bounds: 1000000000 is stored"),
        (partial(change_bound, "NaN"), "bounds: nan is stored"),
    ],
)
def test_what_was_changed_is_noticed(
    change: Callable[[Store, str], None], words: str, greedy: Results, tmp_path: Path
) -> None:
    shutil.copytree(greedy.folder, tmp_path, dirs_exist_ok=True)
    change(Store(tmp_path), greedy.runs["run"][0])
    (verdict,) = verify(tmp_path)
    assert any(words in problem for problem in verdict.problems), verdict.problems


def test_a_day_earns_less_than_was_planned_and_can_be_had_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    day = 'method = ["greedy", "greedy-spread"]\nday = "4 h"\nday_rates = [0, 2]\nrates_apart = true\nslack = 0.02\n'
    variants = '[[variant]]\nname = "once"\n[[variant]]\nname = "anew"\noptimise.replan_every = "2 h"\n'
    results = run_study(study_of(TEXT.replace("trials = 2", "") + day + variants), tmp_path, 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    runs = results.runs.filter(pl.col("optimise.method") == "greedy-spread")
    assert runs["day_plans"].to_list() == [1, 2]
    assert (runs["day_earned_percent"] < 1.02 * runs["day_planned_percent"]).all()
    assert runs["day_planned_percent"][1] >= runs["day_planned_percent"][0]
    assert (runs["day_peak_w"] < runs["cap_w"]).all()
    show_summary(results, None)
    lines = capsys.readouterr().out.splitlines()
    most = max(results.runs["day_earned_percent"].to_list())
    assert f" {most:.2f} " in next(line for line in lines if line.rstrip().endswith("best"))
    assert any(f": {most:.2f} % of all reward in a simulated day of 4 h; its plan has " in line for line in lines)
    assert {verdict.problems for verdict in verify(tmp_path)} == {()}


BAD = {
    "a part of no day": (
        'slack = 0.1\nday = "0 s"',
        "optimise.slack: found no day; is for a day; say how long it is",
    ),
    "plans of a day of any length": (
        'replan_every = "1 h"',
        "optimise.replan_every: found no day; is for a day; say how long it is",
    ),
    "plans between parts": (
        'day = "2 h"\nday_rates = [1, 2]\nreplan_every = "90 min"',
        "optimise.replan_every: found 1.5 h; must be a whole number of parts of the day, which has 2 parts of 1 h",
    ),
    "a day without tasks": (
        'day = "2 h"\nday_rates = [0, 0]',
        "optimise.day_rates: found [0.0, 0.0]; one at least must be above 0",
    ),
    "a rate below 0": ('day = "2 h"\nday_rates = [0.5, -1]', "optimise.day_rates[1]: found -1; must be 0 or more"),
    "a cap below rest": ('[supply]\npower_cap = "10 W"', "supply.power_cap: found 10 W; must be"),
    "a share of the cap below rest": ("system.cap_share = 0.1", "system.cap_share: found"),
    "no CRAC unit of that name": ('system.failed_crac = "south"', "system.failed_crac: found 'south'"),
    "no such CRAC unit": ("system.failed_crac = 2", "system.failed_crac: found unit 2 of 2"),
    "more nodes of too many types": (
        "system.more_nodes = [1, 0, 0]",
        "system.more_nodes: found 3 numbers; must be one",
    ),
    "nodes that are not there": (
        "system.more_nodes = [-7, 0]",
        "system.more_nodes: found -7 of Fujitsu TX140",
    ),
    "a redline that nobody keeps": ("system.redline_c = 10", "system.redline_c: found a node"),
    "unknown method": ('method = "gredy"', "optimise.method: found 'gredy'"),
    "keys of another method": ("population = 5", "optimise.population: found 5 with method 'configurations'; is for"),
    "a budget": ('[supply]\nbudget = "1 GJ"', "supply.budget: found 1 GJ; of [supply], this goal uses only power_cap"),
    "seeds twice": ('method = "ga"\nseeds = ["greedy", "greedy"]', "optimise.seeds: found"),
}


def test_two_caps_are_refused() -> None:
    text = TEXT.replace("cracs = 2", "cracs = 2\ncap_share = 0.5") + '[supply]\npower_cap = "9 kW"\n'
    with pytest.raises(InputError, match=r"found 0\.5 beside supply\.power_cap"):
        study_of(text)


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_reported_where_it_is(case: str) -> None:
    more, words = BAD[case]
    text = f"{TEXT}{more}\n" if not more.startswith("system.") else TEXT.replace("cracs = 2", f"cracs = 2\n{more[7:]}")
    with pytest.raises(InputError) as caught:
        study_of(text)
    assert any(f"study.toml: {words}" in line for line in str(caught.value).splitlines()), str(caught.value)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_trouble_in_the_room_costs_power_under_the_same_cap(tmp_path: Path) -> None:
    variants = '[[variant]]\nname = "well"\n[[variant]]\nname = "hot aisle"\nsystem.hot_air = 2\n'
    variants += '[[variant]]\nname = "failed"\nsystem.failed_crac = "0"\n'
    variants += '[[variant]]\nname = "fewer"\nsystem.more_nodes = [1, -2]\n'
    variants += '[[variant]]\nname = "may heat"\nsystem.heats_back = true\n'
    text = TEXT.replace("trials = 2", "") + 'method = "greedy-spread"\n' + variants
    runs = run_study(study_of(text), tmp_path, 1).runs
    well, hot, failed, fewer, warm = runs.iter_rows(named=True)
    assert well["cap_w"] == hot["cap_w"] == failed["cap_w"] == fewer["cap_w"]
    assert (fewer["nodes"], fewer["cores"]) == (5, well["cores"])
    assert fewer["most_reward_per_s"] == well["most_reward_per_s"]
    assert hot["supply_mean_c"] < well["supply_mean_c"]
    assert hot["cooling_w"] / hot["nodes_w"] > well["cooling_w"] / well["nodes_w"]
    assert failed["run"] != well["run"]
    assert "CRAC 1 to" in failed["set_points"]
    assert "CRAC 0 to" not in failed["set_points"]
    assert warm["slowed_reward_per_s"] >= well["slowed_reward_per_s"]


def test_a_facility_may_come_from_tables(tmp_path: Path) -> None:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    study = study_of("trials = 2\n" + TABLED + 'method = ["greedy", "greedy-spread"]\nday = "0 s"\n', tmp_path)
    results = run_study(study, tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.runs["nodes"].to_list() == [2, 2]  # nothing is drawn: one trial each
    assert {verdict.problems for verdict in verify(tmp_path / "out", files=tmp_path)} == {()}
    (tmp_path / "nodes.csv").write_text("node,type\na,Fujitsu TX141\nb,Fujitsu TX140\n")
    with pytest.raises(InputError, match="did you mean 'Fujitsu TX140'"):
        study_of(TABLED, tmp_path)


TEN_NODES = {
    **TABLES,
    "nodes.csv": "node,type\n" + "".join(f"{node},Fujitsu TX140\n" for node in "abdefghijk"),
    "heat.csv": "taker,source,share\n" + "".join(f"{node},c,1\nc,{node},0.1\n" for node in "abdefghijk"),
    "tasks.csv": "task_type,rate_per_s,class,deadline_s\nx,0.4,medium,155\ny,0.02,light,400\n",
    "speeds.csv": "task_type,node_type,speed_per_s,power_w\nx,Fujitsu TX140,0.01,9\ny,Fujitsu TX140,0.01,9\n",
}
"""Four tasks x on a processor take 160 s each and are late; three take 140 s."""


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_plan_promises_no_more_than_deadlines_allow(tmp_path: Path) -> None:
    """The published reading promises three times what a day earns; ours is within a tenth of it, and of the bound."""
    for name, text in TEN_NODES.items():
        (tmp_path / name).write_text(text)
    variants = '[[variant]]\nname = "ours"\n[[variant]]\nname = "published"\nworkload.deadlines_alone = true\n'
    text = TABLED.replace('heat.csv"', 'heat.csv"\ncap_share = 1.0')
    results = run_study(study_of(text + variants, tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    plan_percent, day_percent, bound_percent = (
        dict(results.runs.select("variant", name).iter_rows())
        for name in ("crr_percent", "day_earned_percent", "bound_percent")
    )
    assert day_percent["published"] < 0.4 * plan_percent["published"]
    assert 0.9 * plan_percent["ours"] <= day_percent["ours"] <= 1.02 * plan_percent["ours"]
    assert 0.98 * bound_percent["ours"] <= plan_percent["ours"] <= bound_percent["ours"] < plan_percent["published"]
    assert {verdict.problems for verdict in verify(tmp_path / "out", files=tmp_path)} == {()}


def test_cores_are_left_free_where_that_earns_more_in_a_day(tmp_path: Path) -> None:
    """A plan that does just as many tasks as arrive has them wait; one with cores to spare does not."""
    for name, text in TEN_NODES.items():
        (tmp_path / name).write_text(text)
    rare = TEN_NODES["tasks.csv"].replace("0.4", "0.03")
    (tmp_path / "tasks.csv").write_text(rare)
    results = run_study(study_of(TABLED, tmp_path), tmp_path / "out", 1)
    rates = results.details(RATES)
    assert results.runs["crr_percent"][0] == pytest.approx(100.0)
    assert (rates["slowed_per_s"] > 1.1 * rates["arrival_per_s"]).any()
    assert results.runs["day_earned_percent"][0] > 95.0
    assert (rates["reward"] * rates["day_per_s"]).sum() == pytest.approx(
        results.runs["day_earned_percent"][0] / 100 * results.runs["most_reward_per_s"][0]
    )


def test_machines_are_not_for_a_facility() -> None:
    with pytest.raises(InputError, match="is for studies with"):
        study_of(TEXT.replace('"facility"\nnodes = 6\ncracs = 2', '"cov"'))


def test_methods_that_need_an_extra_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.study.facility.methods.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"CasADi is not installed; needs the extra \[nlp\]"):
        study_of(TEXT + 'method = ["greedy", "nlpcl"]\n')


def test_every_method_is_there() -> None:
    (field,) = [key for key in study_keys() if key.path == "optimise.method" and key.source == "reward"]
    assert [name.strip('"') for name in field.kind.split(" or ")] == list(METHODS)
