"""Tables of the arena: places with ties, the best of the others, failures, and Markdown."""

from __future__ import annotations

import pytest

from joulewise.errors import InputError
from joulewise.present.arena.figures import FIGURES
from joulewise.present.arena.marked import filled
from joulewise.present.arena.page import findings
from joulewise.present.arena.tables import (
    Board,
    board_tables,
    markdown,
    own_table,
    slice_names,
    standings_table,
    worlds_table,
)
from joulewise.present.parts import unchecked
from joulewise.present.tables import BEST
from joulewise.study.arena.sets import SETS
from joulewise.study.arena.standings import Standings
from tests.strategies.small_arena import made_rows

SHARES: dict[str, list[list[float | None]]] = {
    "mine.py:|x": [[60, 61, 63, 62], [70, 71, 72, 74]],
    "prices": [[90, 91, 92, 93], [60, 61, 62, 60]],
    "random": [[20, 21, 20, 22], [None, 5, 6, 7]],
}


def board_of(own: str = "") -> Board:
    return Board(SETS["tasks"], Standings(made_rows(SHARES), own))


def texts(board: Board) -> dict[str, list[list[str]]]:
    return {
        table.caption.partition(":")[0]: [[name, *(cell.text for cell in cells)] for name, cells in table.rows]
        for table in board_tables(board)
    }


def test_every_policy_stands_with_its_place() -> None:
    (standings, failures) = texts(board_of()).values()
    assert [row[:2] for row in standings] == [["Prices", "1"], ["mine.py:|x", "2"], ["Random", "\N{EN DASH}"]]
    assert standings[2][3] == "1 of 8"
    assert failures == [["Random", "world 1", "1", "it fails"]]


def test_the_own_policy_is_held_against_the_best_of_the_others_in_each_world() -> None:
    table = own_table(board_of("mine.py:|x"))
    assert [(name, cells[2].text, cells[4].text) for name, cells in table.rows] == [
        ("world 0", "Prices", "\N{MINUS SIGN}30.0"),
        ("world 1", "Prices", "+11.0"),
    ]
    alone = Board(SETS["tasks"], Standings(made_rows({"prices": [[50, 60]]}), "prices"))
    assert [table.corner for table in board_tables(alone)] == ["Policy", "Policy"]


def test_the_best_of_each_world_is_marked() -> None:
    table = worlds_table(board_of())
    marked = [
        (name, world) for name, cells in table.rows for world, c in zip(table.columns, cells, strict=True) if c.kind
    ]
    assert marked == [("Prices", "world 0"), ("mine.py:|x", "world 1")]
    assert {cell.kind for _, cells in table.rows for cell in cells} == {BEST, ""}


def test_failures_of_others_make_no_table_of_an_own_policy_that_works() -> None:
    board = board_of("mine.py:|x")
    assert not board.standings.failed.is_empty()
    captions = [table.caption for table in board_tables(board)]
    assert not any(caption.startswith("No result") for caption in captions)
    assert captions == [table.caption for table in board_tables(board) if table.rows]


def test_markdown_keeps_bars_of_names() -> None:
    assert "| mine.py:\\|x | 2 |" in markdown(standings_table(board_of()))


def test_marked_parts_are_written_and_others_stay() -> None:
    page = "a\n<!-- arena tasks -->\nold\n<!-- end -->\n<!-- arena jobs -->\nkept\n<!-- end -->\n"
    new = filled(page, [board_of()])
    assert "old" not in new
    assert new.startswith("a\n<!-- arena tasks -->\n\narena-tasks-1: percent of the proven bound, mean over 2 worlds")
    assert new.endswith("<!-- arena jobs -->\nkept\n<!-- end -->\n")
    assert filled(new, [board_of()]) == new
    with pytest.raises(InputError, match="has no part for tasks"):
        filled("a", [board_of()])


@pytest.mark.parametrize("own", ["", "mine.py:|x"])
def test_figures_are_drawn_and_findings_said(own: str) -> None:
    board = board_of(own)
    with unchecked():
        assert all(figure.draw(board).chart for figure in FIGURES)
    finding, *further = findings(board)
    assert [each.support for each in further] == (
        ["Worst is world 0 (\N{MINUS SIGN}30.0 points against Prices)."] if own else []
    )
    assert finding.lead.startswith(own or "Prices")
    assert finding.support == f"Its places: {2 if own else 1} of 2."


def test_slices_cover_the_day() -> None:
    names = slice_names()
    assert (names[0], names[-1], len(names)) == ("00-03 h", "21-24 h", 8)
