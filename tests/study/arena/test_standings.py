"""Standings: shares with intervals, and places that are those of every pair told apart by itself."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.confidence import CONFIDENCE
from joulewise.errors import InputError
from joulewise.study.answers import inference
from joulewise.study.arena.standings import Standings, together
from tests.strategies.small_arena import made_rows

SHARES = st.floats(1, 99)


def slow_places(values: dict[str, list[float]]) -> dict[str, tuple[int, int]]:
    """Places by Student's test of one pair after the other, and Holm's correction of all of them."""
    pairs = list(itertools.combinations(values, 2))
    gaps = [np.round(np.subtract(values[one], values[other]), 9) for one, other in pairs]
    spreads = [inference.Spread.of_draws(np.array([len(gap)]), gap.std(ddof=1, keepdims=True)) for gap in gaps]
    means = [gap.mean(keepdims=True) for gap in gaps]
    p = [inference.paired(*pair).p()[0] for pair in zip(means, spreads, strict=True)]
    is_sure = inference.holm(np.array(p)) <= 1 - CONFIDENCE
    beaten, beats = dict.fromkeys(values, 0), dict.fromkeys(values, 0)
    for pair, gap, sure in zip(pairs, gaps, is_sure, strict=True):
        better, worse = pair if gap.mean() > 0 else reversed(pair)
        beaten[worse] += bool(sure)
        beats[better] += bool(sure)
    return {name: (1 + beaten[name], len(values) - beats[name]) for name in values}


@given(st.lists(st.lists(SHARES, min_size=4, max_size=4), min_size=2, max_size=6))
def test_places_are_those_of_every_pair(values: list[list[float]]) -> None:
    named = {f"policy {number}": [share + 20 * number for share in of] for number, of in enumerate(values)}
    table = Standings(made_rows({name: [[*of]] for name, of in named.items()})).table
    found = {name: places for name, *places in table.select("policy", "first", "last").iter_rows()}
    assert {name: tuple(places) for name, places in found.items()} == slow_places(named)
    assert all(first <= rank <= last for rank, (first, last) in enumerate(found.values(), 1))


def test_shares_are_means_over_worlds_and_trials_are_what_is_drawn() -> None:
    rows = made_rows({"good": [[90, 92], [70, 72]], "bad": [[50, 51], [20, 21]]})
    table = Standings(rows).table
    assert table["policy"].to_list() == ["good", "bad"]
    assert table["share"].to_list() == pytest.approx([81, 35.5])
    assert (table["high"] - table["low"]).to_list() == pytest.approx([25.41, 12.71], abs=0.01)
    assert Standings(rows).in_world("world 1").table["share"].to_list() == pytest.approx([71, 20.5])


def test_who_fails_somewhere_has_no_place_and_the_others_have_theirs() -> None:
    rows = made_rows({"fails": [[99, 99, 99], [None, 99, 99]], "works": [[50, 51, 52], [50, 51, 52]]})
    table = Standings(rows).table
    failed = table.row(by_predicate=pl.col("policy") == "fails", named=True)
    assert (failed["n_failed"], failed["n"], failed["first"], failed["last"]) == (1, 6, None, None)
    assert table["policy"].to_list() == ["works", "fails"], "who has all results stands first"
    assert table.filter(pl.col("policy") == "works").select("first", "last").row(0) == (1, 1)
    assert Standings(rows).failed["error"].to_list() == ["it fails"]


def test_one_trial_gives_no_places() -> None:
    assert Standings(made_rows({"one": [[50]], "two": [[60]]})).table["first"].null_count() == 2


def test_policies_that_do_the_same_are_tied() -> None:
    table = Standings(made_rows({"one": [[50, 60, 70]], "two": [[50, 60, 70]]})).table
    assert table.select("first", "last").rows() == [(1, 2), (1, 2)]


def test_others_are_met_where_the_own_policy_was() -> None:
    kept = made_rows({"mine": [[1, 2, 3]], "other": [[4, 5, 6], [7, 8, 9]]})
    met = together(made_rows({"mine": [[50, 60]]}), kept)
    assert met.select("policy", "world", "trial").rows() == [
        ("mine", "world 0", 0), ("mine", "world 0", 1), ("other", "world 0", 0), ("other", "world 0", 1),
    ]  # fmt: skip


def test_other_work_than_what_is_kept_is_not_compared() -> None:
    own, kept = made_rows({"mine": [[50, 60]]}), made_rows({"other": [[40, 50]]})
    with pytest.raises(InputError, match="world 0: is other work than what is kept of it"):
        together(own.with_columns(utility_bound=2 * pl.col("utility_bound")), kept)


def test_slices_of_the_day_are_means_over_worlds_and_trials() -> None:
    slices = Standings(made_rows({"one": [[40, 80], [40, None]]})).slices
    assert slices["share"].to_list() == pytest.approx([5.0] * 8)


def test_who_knows_the_future_of_one_world_has_no_place_in_any() -> None:
    rows = made_rows({"ahead": [[90, 91], [92, 93]], "fair": [[50, 51], [52, 53]], "last": [[20, 21], [22, 24]]})
    is_it = (pl.col("policy") == "ahead") & (pl.col("world") == "world 1") & (pl.col("trial") == 0)
    found = Standings(rows.with_columns(foresight=pl.when(is_it).then(pl.lit("it knew"))))
    for standings in (found, found.in_world("world 0")):
        assert standings.table["policy"].to_list() == ["fair", "last", "ahead"]
        assert standings.table["first"].is_null().to_list() == [False, False, True]
        assert standings.table["foresight"].to_list() == [None, None, "it knew"]
