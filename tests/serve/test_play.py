"""The small day to play with: what it says is what a run of its study says, and lessons are right."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from joulewise.errors import InputError
from joulewise.kernels import jit
from joulewise.serve.asking import Asked, asked
from joulewise.serve.play import place
from joulewise.serve.play.compiling import Compiling
from joulewise.serve.play.day import ENVIRONMENTS, FAIR, FILTERS, MOST_BUDGET_MJ, POLICIES, Played, Setting, played
from joulewise.serve.play.lessons import LESSONS, State
from joulewise.study import parse_study, run_study
from tests.strategies.asgi import Client
from tests.strategies.served import client_of

SMALL = Setting(("max-max-util", "random-batch"), 100, 0.5, 5.0, "queued", "none", 1.0, 0)


def state_of(state: State) -> Asked:
    """What a state of a lesson asks."""
    parts = urlsplit(place.address_of("order", state))
    return asked(place._WISHES, parse_qsl(parts.query, keep_blank_values=True))


@pytest.fixture(scope="module")
def day() -> Played:
    return played(SMALL)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_what_is_shown_is_what_a_run_of_the_study_gives(day: Played, tmp_path: Path) -> None:
    (tmp_path / "play.toml").write_text(SMALL.text)
    results = run_study(parse_study(SMALL.text, "play.toml", tmp_path, check_inputs=True), tmp_path / "out", workers=1)
    rows = {row["manager.policy"]: row for row in results.runs.to_dicts()}
    assert list(day.columns) == ["Max-Max Util", "Random (batch)"]
    for policy, columns in zip(SMALL.policies, day.columns.values(), strict=True):
        for name in place._ROWS:
            assert rows[policy][name] == columns[name]


def test_the_day_is_shown_beside_its_bound_and_budget(day: Played) -> None:
    assert [plot.name for plot in day.plots] == ["utility-over-time", "energy-over-time", "task-gantt", "fates"]
    assert "proven bound" in str(day.plots[0].spec)
    assert "budget" in str(day.plots[1].spec)


def test_bounds_are_kept_for_the_next_move_and_are_the_same(day: Played) -> None:
    again = played(SMALL)
    for title, columns in day.columns.items():
        assert {name: again.columns[title][name] for name in place._ROWS} == {
            name: columns[name] for name in place._ROWS
        }


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("energy_filter", FILTERS)
def test_everything_that_can_be_chosen_fits_together(environment: str, energy_filter: str) -> None:
    for policy in POLICIES:
        setting = Setting((policy,), 100, 0.0, 5.0, environment, energy_filter, 2.0, 1)
        study = parse_study(setting.text, "play.toml", Path(), check_inputs=True)
        assert study.warnings == ()
        assert study.points[0].decision.parameters.leniency == (2.0 if energy_filter == FAIR else 1.0)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="must be one of"):
        played(Setting(("nobody",), 100, 0.5, 5.0, "queued", "none", 1.0, 0))


def test_a_setting_is_what_was_asked() -> None:
    what = asked(place._WISHES, [("policy", "prices"), ("beside", "prices"), ("tasks", "150"), ("lesson", "order")])
    assert place.setting_of(what) == Setting(("prices",), 150, 0.5, MOST_BUDGET_MJ, "queued", "none", 1.0, 0)


# --- lessons -------------------------------------------------------------------------------------------------------


def test_there_are_five_lessons_with_a_question_each() -> None:
    assert len(LESSONS) == 5
    for key, lesson in LESSONS.items():
        assert lesson.question.endswith("?")
        for state in (lesson.state, *(state for _, state in lesson.tries)):
            assert place.address_of(key, state).endswith(f"lesson={key}")


def shares(state: State) -> list[float]:
    """What part of what is possible each policy of a state earns, in percent."""
    return [row["possible_percent"] for row in played(place.setting_of(state_of(state))).columns.values()]


@pytest.mark.thorough("plays a dozen whole days")
def test_what_one_sees_answers_the_questions() -> None:
    def tries(key: str) -> list[list[float]]:
        return [shares(state) for _, state in LESSONS[key].tries]

    chosen, drawn = shares(LESSONS["order"].state)
    little, _ = tries("order")
    assert chosen > 1.5 * drawn  # and it matters less where there is little to do
    assert little[0] / little[1] < chosen / drawn
    nothing, (half, one, two) = shares(LESSONS["dropping"].state), tries("dropping")
    assert nothing < half < one > two
    scarce, (more, less) = shares(LESSONS["budget"].state), tries("budget")
    assert less < scarce < more
    spared, (unspared, *_) = shares(LESSONS["filter"].state), tries("filter")
    assert spared > unspared == scarce
    prices, greedy = shares(LESSONS["bound"].state)
    assert 100 > prices > 1.5 * greedy


# --- pages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A workbench whose day is played in this process, which has its kernels."""
    monkeypatch.setattr(jit, "kernels_are_compiled", lambda _mark: True)
    return client_of(tmp_path)


def test_the_page_and_its_twin_say_what_came_out(client: Client, day: Played) -> None:
    query = "?tasks=100&budget=5&beside=random-batch&lesson=budget"
    twin, page = client.get(f"/api/play{query}"), client.get(f"/play{query}")
    assert (twin.status, page.status) == (200, 200)
    utility = day.columns["Max-Max Util"]["utility"]
    (table,) = [block for block in twin.json()["blocks"] if block["type"] == "table"]
    assert table["rows"][0][1]["value"] == utility
    assert f"{utility:,.1f}" in page.text
    assert LESSONS["budget"].question in page.text
    assert re.search(r'<input type="hidden" name="lesson" value="budget">', page.text)


@pytest.mark.parametrize("query", ["?tasks=1e9", "?policy=none", "?budget=nan", "?x=1", "?lesson=6"])
def test_what_cannot_be_asked_is_told(query: str, client: Client) -> None:
    reply = client.get(f"/api/play{query}")
    assert reply.status == 422
    assert reply.json()["problems"]


def test_kernels_are_compiled_beside_the_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Compiling] = []

    def begin(self: Compiling) -> bool:
        begun.append(self)
        return True

    monkeypatch.setattr(jit, "kernels_are_compiled", lambda _mark: False)
    monkeypatch.setattr(Compiling, "begin", begin)
    reply = client.get("/play")
    assert "Compiling for this machine, once" in reply.text
    assert "data-unsettled" in reply.text
    assert len(begun) == 1
