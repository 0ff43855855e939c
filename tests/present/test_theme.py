"""Colours that stay apart and in order."""

from __future__ import annotations

from itertools import pairwise

from joulewise.present import theme


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_ordered_colours_darken_step_by_step() -> None:
    for n in range(2, 12):
        shades = [_lightness(colour) for colour in theme.ordered(n)]
        assert all(lighter - darker > 5 for lighter, darker in pairwise(shades))


def test_few_groups_have_distinct_colours() -> None:
    assert theme.ordered(0) == []
    assert len(theme.ordered(1)) == 1
    assert len(set(theme.categorical(26))) == 26


def test_no_two_of_twenty_four_lines_have_one_colour_and_a_dash_tells_the_family() -> None:
    for family in (0, 1):
        styles = [theme.line_style(i, family) for i in range(24)]
        assert len({colour for colour, _ in styles}) == 24
        assert {tuple(dash) for _, dash in styles} == {tuple(theme.LINE_DASHES[family])}
    assert theme.line_style(0, 0)[1] != theme.line_style(0, 1)[1]
