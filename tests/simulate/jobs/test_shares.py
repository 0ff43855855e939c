"""Fair shares of accounts, by hand and against the plain twin."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.kernels.jobs.sites import shares as shares_kernels
from joulewise.model.shares import Priorities, ShareTree
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.shares import order_on, shares_of, weights_on
from tests.twins.jobs.shares import SharesTwin

MULTIFACTOR = Scheduler(JOB_POLICIES["multifactor"])
_kernels: Any = shares_kernels


@numba.njit
def _note_share(shares: Any, job: Any, now_s: Any, sign: Any) -> None:
    _kernels.note_share(shares, job, now_s, sign)


@numba.njit
def _see_shares(shares: Any, now_s: Any) -> Any:
    return _kernels.see_shares(shares, now_s)


Account = tuple[str, str, int, float | None]
"""A name, what it is a part of, its shares, and what a user has used; None of an account."""

TWO = (
    ("physics", "", 60, None), ("geo", "", 40, None),
    ("anna", "physics", 1, 30.0), ("bob", "physics", 1, 0.0), ("cat", "geo", 1, 10.0),
)  # fmt: skip


def made(*rows: Account, **settings: Any) -> Priorities:
    """Priorities of users who each have one job, which uses in a second what they have used."""
    names = ["", *(row[0] for row in rows)]
    tree = ShareTree(
        tuple(names),
        np.array([-1, *(names.index(row[1]) for row in rows)]),
        np.array([1, *(row[2] for row in rows)]),
        np.array([False, *(row[3] is not None for row in rows)]),
    )
    users = [(names.index(name), used) for name, _, _, used in rows if used is not None]
    of_job, used = np.array(users).T
    return Priorities(tree, of_job, used, **{"half_life_s": math.inf, "period_s": 0.0, **settings})


def factors(priorities: Priorities) -> dict[str, float]:
    """What users deserve after each has used in a second what is said, as the kernel and as the twin have it."""
    shares, n = shares_of(priorities, MULTIFACTOR), priorities.of_job.size
    for at_s, sign in ((0.0, 1), (1.0, -1)):
        for job in range(n):
            _note_share(shares, job, at_s, sign)
    assert _see_shares(shares, 1.0)
    assert not _see_shares(shares, 1.0)
    names = priorities.tree.names
    found = {names[row]: float(shares.factor[row]) for row in priorities.of_job}
    twin = SharesTwin(priorities, [(job, 0.0, 1.0) for job in range(n)])
    assert found == {names[row]: factor for row, factor in twin.factors(1.0).items() if priorities.tree.is_user[row]}
    return found


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_what_is_left_of_shares_counts_what_accounts_have_used() -> None:
    """Effective usage: 0.75 of anna, who used all of physics'; half of that of bob, who used nothing; 0.25 of cat."""
    found = factors(made(*TWO, is_fair_tree=False))
    wanted = {"anna": 2 ** -(0.75 / 0.3), "bob": 2 ** -(0.375 / 0.3), "cat": 2 ** -(0.25 / 0.4)}
    assert found == pytest.approx(wanted, rel=1e-6)
    dampened = factors(made(*TWO, is_fair_tree=False, dampening=5.0))
    assert dampened == pytest.approx({name: value**0.2 for name, value in wanted.items()}, rel=1e-6)


def test_a_fair_tree_ranks_branch_by_branch() -> None:
    """Geo is served 0.4 / 0.25 = 1.6 times, physics 0.6 / 0.75 = 0.8 times; in physics bob has used nothing."""
    assert factors(made(*TWO)) == pytest.approx({"cat": 1.0, "bob": 2 / 3, "anna": 1 / 3})


def test_accounts_that_are_tied_have_their_parts_in_one_list() -> None:
    """Both have used 3 of 6: their users come by 0.5 / (2/3), 0.5 / (1/3), 0.5 / 1, and one who used nothing."""
    rows = (
        ("a", "", 1, None), ("b", "", 1, None),
        ("a1", "a", 1, 2.0), ("a2", "a", 1, 1.0), ("b1", "b", 1, 3.0), ("b2", "b", 1, 0.0),
    )  # fmt: skip
    assert factors(made(*rows)) == pytest.approx({"b2": 1.0, "a2": 0.75, "a1": 0.5, "b1": 0.25})


def test_a_user_tied_with_an_account_has_the_rank_of_its_first_user() -> None:
    rows = (("u", "", 1, 1.0), ("a", "", 1, None), ("x", "a", 1, 1.0), ("y", "a", 1, 0.0))
    assert factors(made(*rows)) == pytest.approx({"u": 1.0, "y": 1.0, "x": 1 / 3})


def test_who_has_no_shares_comes_last() -> None:
    rows = (("a", "", 1, 5.0), ("b", "", 0, 0.0), ("c", "", 1, 0.0))
    assert factors(made(*rows)) == pytest.approx({"c": 1.0, "a": 2 / 3, "b": 1 / 3})
    assert factors(made(*rows, is_fair_tree=False)) == pytest.approx({"c": 1.0, "a": 0.25, "b": 0.0})


def test_what_was_used_counts_half_after_its_half_life() -> None:
    priorities = made(("a", "", 1, 8.0), ("b", "", 1, 3.0), is_fair_tree=False, half_life_s=100.0)
    shares = shares_of(priorities, MULTIFACTOR)
    _note_share(shares, 0, 0.0, 1)
    _note_share(shares, 0, 1.0, -1)
    _see_shares(shares, 1.0)
    used = shares.used.copy()
    _see_shares(shares, 101.0)
    assert shares.used == pytest.approx(used / 2)
    assert used[0] == used[1] == pytest.approx(8.0, rel=0.01)
    usual = shares_of(priorities, Scheduler(JOB_POLICIES["multifactor"], usage_half_life_s=7 * 86_400.0))
    assert usual.decay_per_s == pytest.approx(np.log(2) / (7 * 86_400)), "what a study says wins, the usual time too"
    longer = shares_of(priorities, Scheduler(JOB_POLICIES["multifactor"], usage_half_life_s=200.0))
    assert longer.decay_per_s == pytest.approx(shares.decay_per_s / 2)


def test_shares_are_seen_at_whole_periods() -> None:
    shares = shares_of(made(*TWO, period_s=300.0), MULTIFACTOR)
    assert [bool(_see_shares(shares, at_s)) for at_s in (0.0, 299.0, 700.0, 800.0, 900.0)] == [
        True, False, True, False, True,
    ]  # fmt: skip
    assert shares.seen_s[0] == 900.0


def test_weights_are_those_of_the_study_then_those_of_the_site() -> None:
    plain, own = made(*TWO), made(*TWO, weights={"age": 1000.0, "qos": 50.0})
    asked = Scheduler(JOB_POLICIES["multifactor"], weights={"age": 3.0})
    assert weights_on(plain, MULTIFACTOR) == {
        "age": 1.0, "fair_share": 1.0, "size": 1.0, "queue": 1.0, "partition": 0.0, "qos": 0.0, "tres": 0.0,
    }  # fmt: skip
    assert weights_on(own, MULTIFACTOR)["fair_share"] == 0.0
    assert (weights_on(own, asked)["age"], weights_on(own, asked)["qos"]) == (3.0, 50.0)
    whole = order_on(own, MULTIFACTOR).priority
    assert whole is not None
    assert [whole(wait_s, 1, 1, 1, 1, 0, 0.75) for wait_s in (0.0, 6048.0, 1e9)] == [1.0, 10.0, 1000.0]
    exact = order_on(own, asked).priority
    assert exact is not None
    assert exact(302_400.0, 1, 1, 1, 1, 0, 0.75) == 2.25


@pytest.mark.parametrize(
    ("parent", "is_user", "said"),
    [
        ([-1, 2, 0], [False, True, True], "no part of an earlier one"),
        ([-1, 0, 1], [False, True, True], "users are leaves"),
    ],
)
def test_a_tree_is_one(parent: list[int], is_user: list[bool], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ShareTree(("", "a", "b"), np.array(parent), np.ones(3, np.int64), np.array(is_user))
