"""Every figure is drawn when, and only when, the records hold what it needs."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.present.layout import inline
from joulewise.present.lines import spread
from joulewise.present.page import all_figures, all_pages, drawable
from joulewise.present.records import Records
from tests.present.tasks.test_gantt import days
from tests.strategies.made import GAINED, MANAGED, WEIGHED, make_records
from tests.strategies.made_bags import front_records, pricing_records, profit_records
from tests.strategies.made_facilities import CAPS, facility_records
from tests.strategies.made_fronts import FIVE_SEEDS, fuzzy_records, utility_records
from tests.strategies.made_jobs import FIG_7, MAPPED, job_records

ALL = [figure.name for figure in all_figures()]


def _names(records: Records) -> list[str]:
    return [figure.name for figure in drawable(records)]


def test_names_are_unique_and_needs_are_said() -> None:
    for page in all_pages().values():
        names = [figure.name for figure in page.figures]
        assert len(set(names)) == len(names)
        assert all(figure.needs_words for figure in page.figures)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_full_studies_get_every_figure() -> None:
    found = {name for sweep in (None, MANAGED, WEIGHED, GAINED) for name in _names(make_records(sweep))}
    searches = (
        front_records(),
        profit_records(n_trials=6),
        pricing_records(per_day=[40]),
        utility_records(),
        utility_records(["nsga2"], FIVE_SEEDS),
        fuzzy_records(),
    )
    jobs = (job_records(n_jobs=40), job_records(FIG_7[:4], details=False), job_records(MAPPED, details=False))
    facility = facility_records(CAPS, n_trials=1)
    found |= {name for records in (*searches, *jobs, facility, days(20)) for name in _names(records)}
    assert found == set(ALL)


def test_numbers_that_json_cannot_hold_become_null() -> None:
    frame = inline([{"a": float("nan"), "b": None, "c": "x"}, {"a": float("inf"), "b": None, "c": "y"}])
    assert frame["a"].to_list() == [None, None]
    assert frame["b"].dtype == pl.Float64


@pytest.mark.thorough("draws many figures")
@given(st.dictionaries(st.text(min_size=1), st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 8))
def test_end_labels_keep_their_order_and_distance(ends: dict[str, float], gap: float) -> None:
    places = spread(ends, gap, highest=100.0)
    ranked = sorted(ends, key=lambda name: ends[name])
    assert all(places[above] - places[below] > gap * 0.999 for below, above in pairwise(ranked))
    if gap * len(ends) < 100:
        assert min(places.values()) > -1e-9
        assert max(places.values()) < 100 + 1e-9
