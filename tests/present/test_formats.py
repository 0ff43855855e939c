"""Numbers and keys as people read them."""

from __future__ import annotations

import math

import pytest

from joulewise import units
from joulewise.present import formats

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (65051.4, "65,051"),
        (53.13, "53.1"),
        (0.01234, "0.0123"),
        (-2.5, f"{MINUS}2.50"),
        (1440, "1,440"),
        (None, DASH),
        (math.nan, DASH),
        (math.inf, "∞"),
        (-math.inf, f"{MINUS}∞"),
        (1e-9, f"1.00e{MINUS}09"),
        (3e20, "3.00e+20"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert formats.number(value) == text


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1.26, 1, "+1.3"),
        (-1.26, 1, f"{MINUS}1.3"),
        (0.01, 1, "0.0"),
        (-0.01, 1, "0.0"),
        (0.0, 0, "0"),
        (None, 1, DASH),
    ],
)
def test_signed_never_shows_a_signed_zero(value: float | None, decimals: int, text: str) -> None:
    assert formats.signed(value, decimals) == text


@pytest.mark.parametrize(
    ("half_width", "decimals"), [(0.53, 2), (5.3, 1), (53.0, 0), (0.0053, 4), (0.0, 1), (None, 1), (1e-30, 6)]
)
def test_decimals_show_two_digits_of_the_half_width(half_width: float | None, decimals: int) -> None:
    assert formats.decimals_for(half_width) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (33000, "33,000"),
        (0.5, "0.5"),
        (1.0, "1"),
        (True, "yes"),
        ("10 min", "10 min"),
        ([1, 2.5], "1, 2.5"),
        (None, DASH),
        (-0.25, f"{MINUS}0.25"),
    ],
)
def test_plain(value: object, text: str) -> None:
    assert formats.plain(value) == text


def test_counts_agree_with_their_noun() -> None:
    assert units.count(1, "run") == "1 run"
    assert units.count(1440, "run") == "1,440 runs"


def test_keys_and_metrics_carry_their_units() -> None:
    assert formats.key_name("system.some_key") == "some key"
    assert formats.metric_title("my_metric", {}) == "my metric"
    assert formats.metric_value("task_percent:type_s", 90.0) == "90"
    assert formats.metric_title("served_percent", {}) == "served (%)"
    assert (formats.metric_title("nap_s", {}), formats.metric_value("nap_s", 90.0)) == ("nap", "1.5 min")
    assert (formats.metric_title("naps_per_s", {}), formats.metric_value("naps_per_s", 90.0)) == ("naps per s", "90")
    assert formats.metric_value("energy_j", 1.11e9) == "1.11 GJ"
    assert formats.metric_value("energy_j", None) == DASH


def test_a_heading_of_a_column_stands_in_place_of_its_name() -> None:
    headings = {"busy_percent": "machines busy (%)", "nap_s": ""}
    assert formats.metric_title("busy_percent", headings) == "machines busy (%)"
    assert formats.metric_title("busy_percent:fast", headings) == "machines busy, fast (%)"
    assert formats.metric_title("nap_s:fast", headings) == "nap, fast"
