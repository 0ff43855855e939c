"""Plans on a Slurm in memory: who is released where, why others wait, and what is left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joulewise.cli import main
from joulewise.errors import InputError
from joulewise.model.jobs import JobWorld
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.slurm.calls import Patience, ask
from joulewise.slurm.live import Row, live_world, log_of
from joulewise.slurm.plan import Plan, plan_of
from joulewise.slurm.policy import SlurmPolicy, parse_policy
from joulewise.slurm.snapshot import Snapshot, snapshot_of
from tests.strategies.fake_slurm import FakeNode, FakeSlurm

MANAGED = """
[slurm]
partitions = ["cpu", "gpu"]

[scheduler]
policy = "max-util"
"""
POWERS = """
[[power]]
nodes = "n[1-2]"
idle_power = "100 W"
core_power = "10 W"

[[power]]
feature = "fast"
idle_power = "200 W"
core_power = "40 W"
"""


def fake() -> FakeSlurm:
    nodes = {f"n{number}": FakeNode(f"n{number}", 4, ("fast",) if number > 2 else ()) for number in range(1, 5)}
    return FakeSlurm(nodes, {"cpu": ["n1", "n2"], "gpu": ["n3", "n4"]})


def hold(slurm: FakeSlurm, partition: str = "cpu", **others: Any) -> str:
    (key,) = slurm.submit(partition, is_held=True, admin_comment="joulewise", **others)
    return key


def policy(more: str = "", text: str = MANAGED) -> SlurmPolicy:
    return parse_policy(text + more, "policy.toml")


def look(slurm: FakeSlurm) -> Snapshot:
    return snapshot_of(slurm, Patience(limit_s=1), lambda _: None)


def planned(slurm: FakeSlurm, more: str = "", used_j: float = 0.0, text: str = MANAGED) -> Plan:
    return plan_of(look(slurm), policy(more, text), used_j)


def released(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {row.job: row.nodes for row in plan.releases}


def why(plan: Plan) -> dict[str, str]:
    return {row.job: row.why for row in plan.waiting}


def test_jobs_are_released_where_there_is_room() -> None:
    slurm = fake()
    running = slurm.submit("cpu", cores=4, limit_s=600, runs_s=600)
    slurm.pass_time(100)
    first, second, third = (hold(slurm, cores=3, limit_s=1200) for _ in range(3))
    slurm.pass_time(10)
    plan = planned(slurm)
    assert released(plan) == {first: ("n2",)}
    assert set(why(plan)) == {second, third}
    assert all(reason.startswith("no room for ") for reason in why(plan).values()), why(plan)
    starts = {row.job: row.starts_at_s for row in plan.waiting}
    ends = slurm.job(running[0]).start_at_s + 600  # type: ignore[operator]
    assert starts[second] == ends
    assert plan.releases[0].ends_at_s == slurm.now_s + 1200
    assert plan.totals.power_w is None
    assert all(words[:2] != ("scontrol", "release") and words[1] != "update" for words in slurm.told)


def test_the_plan_is_what_the_simulator_decides() -> None:
    slurm = fake()
    for at in range(30):
        hold(slurm, ("cpu", "gpu")[at % 2], cores=1 + at % 4, limit_s=600 * (1 + at % 5))
        slurm.pass_time(7)
    live = live_world(look(slurm), policy())
    assert live.world is not None
    outcome = simulate_jobs(live.world, policy().scheduler)
    at_s = live.world.opening.at_s  # type: ignore[union-attr]
    expected = {live.jobs[i].key for i in live.waits if outcome.allocation.start_s[i] == at_s}
    plan = planned(slurm)
    assert set(released(plan)) == expected
    assert expected
    assert all(row.starts_at_s is None or row.starts_at_s > slurm.now_s for row in plan.waiting)


def test_a_site_that_works_already_goes_on_as_if_it_had_been_planned_from_the_beginning() -> None:
    """Where who runs is told, the same jobs wait as in a plan that was made before they started."""
    slurm = fake()
    keys = [hold(slurm, cores=3, limit_s=600, runs_s=600) for _ in range(4)]
    slurm.pass_time(10)
    first = planned(slurm)
    for key in released(first):
        slurm.run(("scontrol", "update", f"JobId={key}", f"ReqNodeList={released(first)[key][0]}"), 1)
        slurm.run(("scontrol", "release", key), 1)
    slurm.pass_time(60)
    second = planned(slurm)
    assert released(second) == {}
    assert set(why(second)) == set(keys) - set(released(first))
    assert [row.starts_at_s for row in second.waiting] == [row.starts_at_s for row in first.waiting]


def test_drained_nodes_get_nothing() -> None:
    slurm = fake()
    key = hold(slurm, cores=2)
    slurm.nodes["n1"].is_drained = True
    slurm.pass_time(1)
    assert released(planned(slurm)) == {key: ("n2",)}
    slurm.nodes["n2"].is_drained = True
    assert why(planned(slurm)) == {key: "no room within 7 d"}


def test_what_is_not_ours_is_left_alone() -> None:
    slurm = fake()
    (theirs,) = slurm.submit("cpu", is_held=True)
    (waits,) = slurm.submit("cpu", cores=4, begin_at_s=slurm.now_s + 999)
    ours = hold(slurm)
    slurm.pass_time(1)
    plan = planned(slurm)
    assert set(released(plan)) == {ours}
    assert plan.aside == {"held by the user": 1, "waiting as Slurm decides": 1}
    assert {theirs, waits}.isdisjoint(why(plan))


def test_jobs_that_are_not_understood_are_left_to_slurm() -> None:
    slurm = fake()
    several = hold(slurm, "cpu")
    slurm.job(several).partition = "cpu,gpu"
    large, named, odd = hold(slurm, cores=8), hold(slurm, wanted=["n1"]), hold(slurm, features="a&(b|c)")
    endless = hold(slurm, limit_s=600)
    fine = hold(slurm)
    slurm.pass_time(1)
    shot = look(slurm)
    jobs = [job._replace(limit_s=float("inf")) if job.key == endless else job for job in shot.jobs]
    plan = plan_of(shot._replace(jobs=jobs), policy())
    assert {row.job: row.why for row in plan.left} == {
        several: "it names several partitions",
        named: "it asks for nodes by their names",
        odd: "it asks for features in an unknown way",
        endless: "it has no time limit: sbatch --time sets one",
        large: "its partition or its nodes do not allow what it asks for",
    }
    assert set(released(plan)) == {fine}


def test_protected_jobs_are_released_at_once() -> None:
    slurm = fake()
    key = hold(slurm, user="boss", cores=8)
    slurm.pass_time(1)
    plan = planned(slurm, '[protected]\nusers = ["boss"]\n')
    assert [row.job for row in plan.protected] == [key]
    assert not plan.releases
    assert not plan.waiting


def test_comments_say_what_jobs_are_worth_and_hostile_ones_are_refused_for_their_job_alone() -> None:
    slurm = fake()
    slurm.submit("cpu", cores=4, limit_s=6000, runs_s=6000)
    plain = hold(slurm, cores=4)
    slurm.pass_time(1)
    dear = hold(slurm, cores=4, comment='{"max_utility": 8, "utility": "constant"}')
    hostile = hold(slurm, cores=4, comment='{"max_utility": 1e999, "x": "$(reboot)"}')
    greedy = hold(slurm, cores=4, comment='{"max_utility": 800}')
    slurm.pass_time(1)
    plan = planned(slurm)
    assert set(released(plan)) == {dear}
    assert set(why(plan)) == {plain, hostile, greedy}
    assert set(plan.refused) == {hostile, greedy}


def test_a_power_cap_keeps_jobs_waiting() -> None:
    slurm = fake()
    keys = [hold(slurm, "gpu", cores=4) for _ in range(2)]
    slurm.pass_time(1)
    plan = planned(slurm, '[supply]\npower_cap = "800 W"\n' + POWERS)
    assert len(plan.releases) == 1
    assert plan.releases[0].power_w == 160
    assert plan.releases[0].energy_j == 160 * 600
    assert plan.totals[:3] == (600, 760, 800)
    assert list(why(plan).values()) == ["power: the cap leaves less than it draws"]
    assert set(keys) == set(released(plan)) | set(why(plan))


def test_a_job_above_the_cap_waits_and_is_not_left_to_slurm() -> None:
    slurm = fake()
    key = hold(slurm, "gpu", cores=4)
    slurm.pass_time(1)
    plan = planned(slurm, '[supply]\npower_cap = "700 W"\n' + POWERS)
    assert why(plan) == {key: "power: the cap leaves less than it draws"}
    assert not plan.left


@pytest.mark.parametrize("by_hour", [False, True])
def test_what_runs_above_a_cap_runs_on_and_keeps_others_waiting(tmp_path: Path, *, by_hour: bool) -> None:
    (tmp_path / "caps.csv").write_text("hour,cap\n" + "".join(f"{hour},700\n" for hour in range(24)))
    slurm = fake()
    slurm.submit("gpu", cores=4, limit_s=6000, runs_s=6000)
    slurm.pass_time(10)
    key = hold(slurm, cores=1)
    slurm.pass_time(10)
    cap = 'power_cap_by_hour = "caps.csv"\nbegins_at = "2026-03-01"' if by_hour else 'power_cap = "700 W"'
    plan = plan_of(look(slurm), parse_policy(f"{MANAGED}[supply]\n{cap}\n{POWERS}", "policy.toml", tmp_path))
    assert why(plan) == {key: "power: the cap leaves less than it draws"}
    assert plan.totals[:3] == (760, 760, 700)


def test_jobs_that_are_not_understood_draw_power_too() -> None:
    slurm = fake()
    slurm.submit("gpu", cores=2, limit_s=6000, runs_s=6000)
    slurm.pass_time(10)
    key = hold(slurm, cores=4)
    slurm.pass_time(10)
    shot, limit = look(slurm), f'[supply]\npower_cap = "770 W"\n{POWERS}'
    jobs = [job._replace(cores=64) if job.stage == "runs" else job for job in shot.jobs]
    plan = plan_of(shot._replace(jobs=jobs), policy(limit))
    assert why(plan) == {key: "power: the cap leaves less than it draws"}
    assert plan.totals.power_w == 760
    assert released(plan_of(shot, policy(limit))) == {key: ("n1",)}


def test_a_budget_keeps_jobs_waiting_for_the_next_day() -> None:
    slurm = fake()
    slurm.now_s = 20_000 * 86_400.0 + 3_600
    key = hold(slurm, "gpu", cores=4, limit_s=3_600)
    slurm.pass_time(10)
    limits = '[supply]\nbudget = "52.5 MJ"\n' + POWERS  # nodes without jobs use 51.84 MJ
    assert set(released(planned(slurm, limits))) == {key}
    plan = planned(slurm, limits, used_j=200e3)
    assert why(plan) == {key: "energy: the budget of this day leaves less than it needs"}
    assert plan.waiting[0].starts_at_s is not None
    assert plan.waiting[0].starts_at_s // 86_400 == 20_001
    left_j = 52.5e6 - 200e3 - 600 * 3_610
    assert plan.totals.budget_left_j == pytest.approx(left_j)


@pytest.mark.parametrize("name", ["fcfs", "easy", "max-upe", "prices"])
def test_what_is_decided_now_does_not_depend_on_how_far_is_looked_ahead(name: str) -> None:
    slurm = fake()
    slurm.now_s = 20_000 * 86_400.0 + 80_000
    for at in range(40):
        hold(slurm, ("cpu", "gpu")[at % 2], cores=1 + at % 4, limit_s=1800 * (1 + at % 7))
    slurm.pass_time(10)
    more = f'[supply]\nbudget = "53 MJ"\npower_cap = "760 W"\n{POWERS}'
    live = live_world(look(slurm), policy(more, MANAGED.replace("max-util", name)))
    assert live.world is not None
    world, at_s = live.world, live.world.opening.at_s  # type: ignore[union-attr]
    scheduler = policy(more, MANAGED.replace("max-util", name)).scheduler
    far = replace(world, jobs=replace(world.jobs, work=replace(world.jobs.work, end_s=at_s + 7 * 86_400)))
    near_s, far_s = (simulate_jobs(each, scheduler).allocation.start_s for each in (world, far))
    assert (near_s == at_s).tolist() == (far_s == at_s).tolist()
    assert (near_s == at_s).any()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[supply]\npower_cap = "800 W"\n', "does not tell what n[1-4] draw"),
        (f'[supply]\npower_cap = "600 W"\n{POWERS}', "what nodes without jobs draw"),
        (f'[supply]\nbudget = "51 MJ"\n{POWERS}', "what nodes without jobs use on a day"),
        ('[[power]]\nnodes = "m[1-3]"\nidle_power = "1 W"\n', "found m[1-3]"),
        ('[[power]]\nfeature = "slow"\nidle_power = "1 W"\n', "found 'slow'"),
        ('[protected]\npartitions = ["cpus"]\n', "did you mean 'cpu'?"),
    ],
)
def test_a_policy_that_does_not_fit_the_cluster_is_refused(more: str, told: str) -> None:
    slurm = fake()
    hold(slurm)
    slurm.pass_time(1)
    with pytest.raises(InputError) as refused:
        planned(slurm, more)
    assert told in str(refused.value)
    assert "policy.toml" in str(refused.value)


def test_running_jobs_of_which_the_model_has_no_room_keep_their_nodes() -> None:
    slurm = fake()
    slurm.submit("cpu", cores=2, limit_s=600, runs_s=600)
    slurm.pass_time(5)
    key = hold(slurm, cores=4, limit_s=60)
    other = hold(slurm, cores=4, limit_s=60)
    slurm.pass_time(5)
    shot = look(slurm)
    jobs = [job._replace(cores=64) if job.stage == "runs" else job for job in shot.jobs]
    plan = plan_of(shot._replace(jobs=jobs), policy())
    assert len(plan.releases) == 1
    assert {*released(plan), *why(plan)} == {key, other}
    assert any("not understood" in what for what in plan.aside)
    assert released(plan)[plan.releases[0].job] == ("n2",)


def test_nothing_to_decide_is_a_plan_too() -> None:
    slurm = fake()
    slurm.submit("cpu")
    plan = planned(slurm)
    assert not plan.releases
    assert not plan.waiting


def test_other_versions_are_planned_and_it_is_told_which_are_tested() -> None:
    slurm = replace(fake(), version="26.11.1")
    key = hold(slurm)
    slurm.pass_time(1)
    plan = planned(slurm)
    assert set(released(plan)) == {key}
    assert "22.05" in plan.notes[0]


def world_of(slurm: FakeSlurm, more: str) -> JobWorld:
    world = live_world(look(slurm), policy(more)).world
    assert world is not None
    return world


def test_days_of_the_budget_begin_where_the_policy_says() -> None:
    slurm = fake()
    slurm.now_s = 20_000 * 86_400.0 + 3_600
    hold(slurm)
    slurm.pass_time(1)
    plain = world_of(slurm, "")
    assert plain.opening is not None
    assert plain.opening.at_s % 86_400 == 3_601
    later = world_of(slurm, '[supply]\nbegins_at = "2030-01-01T06:00+05:00"\n')
    assert later.opening is not None
    assert later.opening.at_s % 86_400 == 1


@pytest.mark.parametrize(
    ("told", "gpus", "kind"),
    [
        ({"tres": "cpu=2,mem=4G,node=2,gres/gpu=4,gres/gpu:a100=4"}, 4.0, "a100"),
        ({"tres_per_node": "gres:gpu:a100:2"}, 4.0, "a100"),
        ({"tres_per_node": "gres/gpu:2"}, 4.0, None),
        ({"tres_per_job": "gres:gpu:3"}, 3.0, None),
        ({}, None, None),
    ],
)
def test_gpus_memory_and_licences_are_read_as_versions_write_them(
    told: dict[str, Any], gpus: float | None, kind: str | None
) -> None:
    slurm = fake()
    hold(slurm)
    plain = look(slurm).jobs[0]._replace(nodes=2, cores=2, tres="cpu=2,mem=4G,node=2", licences="matlab:2,ansys")
    row = log_of([Row(plain._replace(**told), None, 600.0)]).jobs.row(0, named=True)
    assert (row["gpus"], row["gpu_kind"]) == (gpus, kind)
    assert row["requested_memory_kb"] == 2 * 2**20
    assert row["licences"] == "matlab=2,ansys=1"


# --- the command --------------------------------------------------------------------------------------------


def call(monkeypatch: pytest.MonkeyPatch, slurm: FakeSlurm, *words: str) -> int:
    monkeypatch.setattr("joulewise.slurm.calls.Commands", lambda: slurm)
    monkeypatch.setattr(
        "joulewise.slurm.snapshot.ask", lambda caller, words, patience, _: ask(caller, words, patience, lambda _: None)
    )
    try:
        main(["slurm", *words])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_the_command_tells_people_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm, file = fake(), tmp_path / "policy.toml"
    file.write_text(MANAGED + '[supply]\npower_cap = "800 W"\n' + POWERS)
    keys = [hold(slurm, "gpu", cores=4) for _ in range(2)]
    slurm.pass_time(1)
    assert call(monkeypatch, slurm, "plan", str(file)) == 0
    said = capsys.readouterr().out
    assert "1 job would be released" in said
    assert "power: the cap" in said
    assert "power cap" in said
    assert call(monkeypatch, slurm, "plan", str(file), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["job"] for row in (*told["releases"], *told["waiting"])} == set(keys)
    assert told["totals"]["cap_w"] == 800


def test_the_command_tells_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm, file = fake(), tmp_path / "policy.toml"
    file.write_text(MANAGED)
    assert call(monkeypatch, slurm, "act", str(file)) == 2
    assert "must be one of plan" in capsys.readouterr().err
    assert call(monkeypatch, slurm, "plan", str(tmp_path / "none.toml")) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert call(monkeypatch, slurm, "plan", str(file), "--used", "much") == 2
    assert "12 MJ" in capsys.readouterr().err
    slurm.silent_for = 99
    assert call(monkeypatch, slurm, "plan", str(file)) == 2
    assert "did not answer" in capsys.readouterr().err
