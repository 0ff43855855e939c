"""What Slurm is told: words without a shell, of strict patterns."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.slurm.orders import MOST_TOLD, SETTINGS, hold, release, requeue_hold, update

HARMLESS = re.compile(r"[A-Za-z0-9 _.,:;/()%+=<>&|*\[\]-]*")


def test_jobs_are_released_in_batches_each_once() -> None:
    keys = [str(number) for number in range(1, 2 * MOST_TOLD)] * 2
    orders = list(release(keys))
    assert [len(order.jobs) for order in orders] == [MOST_TOLD, MOST_TOLD - 1]
    assert orders[0].words[:2] == ("scontrol", "release")
    assert orders[0].words[2] == ",".join(orders[0].jobs)
    assert list(release([])) == []


def test_holds_are_those_of_a_user() -> None:
    assert [order.words for order in hold(["7", "5_2"])] == [("scontrol", "uhold", "7,5_2")]
    assert [order.words for order in requeue_hold(["7"])] == [("scontrol", "requeuehold", "7")]


def test_what_is_changed_of_a_job() -> None:
    order = update(
        "5_2", partitions=["cpu", "all"], nodes=["n1", "n2", "m7"], excluded_nodes=[], features="fast&(a|b)",
        start_at_s=1795130495.9, limit_s=90061, admin_comment="joulewise: waits for \x1b[31m$(power)`\n'x'",
    )  # fmt: skip
    assert order.jobs == ("5_2",)
    assert order.words == (
        "scontrol", "update", "JobId=5_2", "Partition=cpu,all", "ReqNodeList=m7,n[1-2]", "ExcNodeList=",
        "Features=fast&(a|b)", "StartTime=2026-11-19T23:21:35", "TimeLimit=1-01:02:00",
        "AdminComment=joulewise: waits for 31m(power)x",
    )  # fmt: skip


BAD: list[tuple[str, Any]] = [
    ("partitions", []), ("partitions", "cpu"), ("partitions", ["cpu Priority=1"]), ("partitions", ["a\nb"]),
    ("nodes", ["n1", "-x"]), ("nodes", ["n[1-9]"]), ("nodes", [7]), ("features", "a b"), ("features", "a;b"),
    ("start_at_s", -1.0), ("start_at_s", float("nan")), ("start_at_s", 1e300), ("limit_s", 0),
    ("limit_s", float("inf")), ("admin_comment", "mine"), ("admin_comment", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_is_of_no_pattern_is_not_told(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no|must be|needs|begin"):
        update("7", **{name: value})


@pytest.mark.parametrize("key", ["", "0", "7 8", "7,8", "-7", "7_", "7_x", "7;reboot", "7\n", "\u0667", "9" * 11])
def test_what_is_no_job_is_not_told(key: str) -> None:
    for order in (lambda: update(key, limit_s=60), lambda: list(release([key]))):
        with pytest.raises(ValueError, match="is no job"):
            order()


def test_a_change_of_nothing_is_none() -> None:
    with pytest.raises(ValueError, match="nothing is changed"):
        update("7")


@given(st.sampled_from(["partitions", "nodes", "features", "admin_comment"]), st.text())
def test_no_text_reaches_slurm_with_other_characters(name: str, text: str) -> None:
    value = [text] if name in ("partitions", "nodes") else f"joulewise {text}" if name == "admin_comment" else text
    try:
        word = update("7", **{name: value}).words[-1]
    except ValueError:
        return
    assert word.startswith(f"{SETTINGS[name].word}=")
    assert HARMLESS.fullmatch(word)
