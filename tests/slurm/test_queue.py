"""The queue of a Slurm as text and JSON: recorded, in the shapes of other versions, altered, and hostile."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.slurm.queue import (
    ADMINISTRATOR,
    CELLS,
    ENDS,
    OVER,
    RUNS,
    SLURM,
    STAGES,
    UNKNOWN,
    US,
    USER,
    WAITS,
    QueuedJob,
    ask_queue,
    queue_of_json,
    queue_of_text,
)
from tests.strategies.altered import altered
from tests.strategies.squeue_json import SHAPES, dressed

SAMPLES = Path(__file__).parents[1] / "data" / "slurm"
MARK = "#0123456789ab#"
TEXT = (SAMPLES / "queue-22.05.txt").read_bytes().decode()
ANSWER = json.loads((SAMPLES / "queue-22.05.json").read_text())

ONE = {
    "job": "7", "array": "7", "task": "N/A", "part_of": "N/A", "state": "PENDING", "reason": "Priority", "user": "ann",
    "account": "(null)", "qos": "(null)", "partition": "cpu", "priority": "100", "submit_at_s": "2026-11-19T23:21:35",
    "eligible_at_s": "N/A", "start_at_s": "N/A", "end_at_s": "N/A", "limit_s": "10:00", "nodes": "1", "cores": "1",
    "tres": "cpu=1", "tres_per_job": "N/A", "tres_per_node": "N/A", "features": "(null)", "wanted_nodes": "",
    "on_nodes": "", "shares_with": "OK", "licences": "(null)", "reservation": "(null)", "dependency": "(null)",
    "restarts": "0", "name": "x", "admin_comment": "(null)", "comment": "(null)",
}  # fmt: skip


def printed(*jobs: Mapping[str, str]) -> str:
    return "".join("".join(f"{job[name]}{MARK}" for name in CELLS) + "\n" for job in jobs)


def one(**cells: str) -> QueuedJob:
    (job,) = queue_of_text(printed({**ONE, **cells}), MARK)
    return job


def recorded() -> dict[str, QueuedJob]:
    return {job.key: job for job in queue_of_text(TEXT, MARK)}


def named(name: str) -> list[QueuedJob]:
    return [job for job in recorded().values() if job.name == name]


# --- recorded -----------------------------------------------------------------------------------------------


def test_what_was_recorded_is_read() -> None:
    (plain,) = named("plain")
    assert (plain.stage, plain.cores, plain.nodes, plain.on_nodes, plain.limit_s) == (RUNS, 2, 1, "n1", 600.0)
    assert (plain.start_at_s, plain.end_at_s) == (1795130496.0, 1795131096.0)
    (gpu,), (gpus,) = named("gpu"), named("gpus")
    assert (gpu.tres_per_node, gpus.tres_per_job) == ("gres:gpu:1", "gres:gpu:2")
    (whole,), (endless,) = named("whole"), named("endless")
    assert (whole.shares_with, whole.on_nodes) == ("nobody", "n[2-3]")
    assert (endless.shares_with, endless.limit_s, endless.licences) == ("user", math.inf, "matlab")
    (nodes,), (large,) = named("nodes"), named("large")
    assert (nodes.wanted_nodes, nodes.priority, large.nodes, large.cores) == ("n2", 77.0, 1024, 2048)
    assert named("depends")[0].dependency == "afterok:1(unfulfilled)"


def test_tasks_of_an_array_are_jobs_with_keys_that_stay() -> None:
    tasks = {job.key: job for job in named("array")}
    assert sorted(tasks) == [f"5_{task}" for task in range(6)]
    assert {tasks["5_0"].job, tasks["5_2"].job} == {19, 5}  # a task gets a number of its own when it starts
    assert (tasks["5_0"].stage, tasks["5_2"].stage, tasks["5_2"].reason) == (RUNS, WAITS, "JobArrayTaskLimit")
    assert named("plain")[0].array is None


def test_parts_of_a_job_name_the_first() -> None:
    assert [(job.key, job.told_as, job.partition) for job in named("parts")] == [
        ("11", "11", "cpu"),
        ("12", "11", "gpu"),
    ]
    assert {job.told_as for job in named("array")} == {f"5_{task}" for task in range(6)}


def test_who_holds_a_job_is_told() -> None:
    holders = {name: named(name)[0].held_by for name in ("held", "ours", "theirs", "admin", "again", "nodes", "plain")}
    assert holders == {
        "held": USER, "ours": US, "theirs": USER, "admin": ADMINISTRATOR, "again": ADMINISTRATOR, "nodes": None,
        "plain": None,
    }  # fmt: skip
    assert named("ends")[0].stage == ENDS
    assert one(priority="0", reason="launch failed requeued held").held_by == SLURM
    assert one(priority="0", reason="something new", admin_comment="joulewise").held_by == SLURM
    assert one(priority="0", reason="JobHeldAdmin", admin_comment="joulewise").held_by == ADMINISTRATOR


def test_names_and_comments_are_taken_as_they_are() -> None:
    assert named("spoof JobId=9 State=RUNNING")[0].comment == "a|b#c\nJobId=9 Comment=x"
    assert named("new\nline")[0].key == "4"


@pytest.mark.parametrize("state", [*STAGES, "SOMETHING_NEW"])
def test_every_state_has_a_stage(state: str) -> None:
    assert one(state=state).stage in (WAITS, RUNS, ENDS, OVER, UNKNOWN)
    assert (one(state=state).stage == UNKNOWN) == (state == "SOMETHING_NEW")


# --- text ---------------------------------------------------------------------------------------------------


def test_the_mark_is_another_each_time_and_ends_every_cell() -> None:
    asked, again = ask_queue(), ask_queue("all")
    assert asked.mark != again.mark
    assert asked.command[-1].count(asked.mark) == len(CELLS)
    assert "--states=all" in again.command
    assert not asked.mark[0].isdigit()  # a number would be the width of the column, to which it is cut


LENGTHS = {
    "10:00": 600, "1:00:00": 3600, "2-00:00:00": 172800, "1-12": 129600, "1-12:30": 131400, "5": 5, "0:30": 30,
    "UNLIMITED": math.inf, "INVALID": None, "N/A": None,
}  # fmt: skip


@pytest.mark.parametrize("text", LENGTHS)
def test_lengths_of_time(text: str) -> None:
    assert one(limit_s=text).limit_s == LENGTHS[text]


@pytest.mark.parametrize(("text", "n"), [("1", 1), ("4-8", 4), ("1K", 1024), ("2M-3M", 2**21)])
def test_numbers_of_things(text: str, n: int) -> None:
    assert one(nodes=text).nodes == n


BAD = {
    "job": ("", "x", "0", "-1", "1_000", "9" * 5000), "state": ("",), "priority": ("nan", "inf", "x"),
    "submit_at_s": ("yesterday", "2026-13-01T00:00:00", "99999-01-01"), "limit_s": ("-5", "1:2:3:4", "x", "1-"),
    "nodes": ("", "x", "1.5", "-1", "1_0"), "restarts": ("N/A",),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_what_cannot_be_read_is_refused_with_its_job(name: str, text: str) -> None:
    with pytest.raises(InputError, match="printed what cannot be read of job"):
        one(**{name: text})


def test_an_answer_that_is_cut_off_is_refused() -> None:
    for at in range(1, len(TEXT) - 1, 97):
        with pytest.raises(InputError, match=r"must be 32 for each job|cannot be read"):
            queue_of_text(TEXT[:at], MARK)
    assert queue_of_text("", MARK) == []


@given(st.text(), st.text(), st.text())
def test_nobody_can_write_another_job(name: str, comment: str, account: str) -> None:
    texts = {"name": name, "comment": comment, "account": account}
    if any(MARK in text for text in texts.values()):
        return
    first, second = queue_of_text(printed({**ONE, **texts}, {**ONE, "job": "8"}), MARK)
    assert (first.job, second.job, first.state, first.priority) == (7, 8, "PENDING", 100.0)


# --- JSON ---------------------------------------------------------------------------------------------------

MAY_DIFFER = {"end_at_s", "limit_s", "reason"}
"""JSON of 22.05 has no limit where there is none, gives such a job a year, and has no texts in place of reasons."""


@pytest.mark.parametrize("shape", SHAPES)
def test_json_says_what_text_says(shape: str) -> None:
    jobs = {job.key: job for job in queue_of_json(json.dumps(dressed(ANSWER, shape)))}
    assert {job.stage for key, job in jobs.items() if key not in recorded()} == {OVER}
    for key, told in recorded().items():
        same = {name for name in QueuedJob._fields if getattr(jobs[key], name) == getattr(told, name)}
        assert set(QueuedJob._fields) - same <= (MAY_DIFFER if told.name in ("endless", "again") else set()), key


def test_limits_without_end_in_each_shape() -> None:
    for limit in (2**32 - 1, {"set": False, "infinite": True, "number": 0}, {"set": True, "infinite": True}):
        (job,) = queue_of_json(json.dumps({"jobs": [{**ANSWER["jobs"][0], "time_limit": limit}]}))
        assert job.limit_s == math.inf


BAD_ANSWERS = (
    "", "null", "[]", "{}", '{"jobs": {}}', '{"jobs": [1]}', '{"jobs": [{}]}', "[" * 100_000,
    '{"jobs": [{"job_id": []}]}',
    '{"jobs": [{"job_id": 1, "job_state": [["PENDING"]]}]}',
    '{"jobs": [{"job_id": ' + '{"number": ' * 900 + "1" + "}" * 900 + "}]}",
    '{"jobs": [{"job_id": 1, "job_state": "PENDING", "submit_time": 1e300}]}',
    '{"jobs": [{"job_id": 1, "job_state": "PENDING", "submit_time": NaN}]}',
    '{"jobs": [{"job_id": 1, "job_state": "PENDING", "array_task_string": "1-..."}]}',
    '{"jobs": [{"job_id": 1, "job_state": "PENDING", "array_task_string": "0-99999999"}]}',
    '{"jobs": [{"job_id": 1, "job_state": "PENDING", "time_limit": "x"}]}',
)  # fmt: skip


@pytest.mark.parametrize("text", BAD_ANSWERS)
def test_json_that_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        queue_of_json(text)


def test_steps_in_lists_of_tasks() -> None:
    job = {
        **ANSWER["jobs"][0],
        "job_id": 5,
        "array_job_id": 5,
        "array_task_id": None,
        "array_task_string": "0-10:5,12%2",
    }
    assert [task.key for task in queue_of_json(json.dumps({"jobs": [job]}))] == ["5_0", "5_5", "5_10", "5_12"]


# --- altered ------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
def test_altered_answers_are_read_or_refused(seed: int) -> None:
    draw = Random(seed)
    text = altered(TEXT, draw)
    answer = altered(json.dumps(dressed(ANSWER, draw.choice(list(SHAPES)))), draw)
    for jobs in (partial(queue_of_text, text, MARK), partial(queue_of_json, answer)):
        with suppress(InputError):
            assert all(job.key and job.stage for job in jobs())
