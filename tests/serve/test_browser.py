"""A browser on the workbench: pages are loaded, moved and clicked, and say what the command line says."""

from __future__ import annotations

import pytest

from joulewise.serve import house
from tests.strategies.browsing import IN_BROWSER, Visitor, visiting
from tests.strategies.every_kind import TEXTS, made
from tests.strategies.served import served, shelved

pytestmark = IN_BROWSER
FEW = ("facility", "front", "profit")


def serious(visitor: Visitor) -> list[str]:
    """What axe finds that keeps people out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(visitor.page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]


def every_address(*names: str) -> list[str]:
    shelf = served(*names).app.state.bench.shelf
    boards = [f"/studies/{name}/{board.name}" for name in names for board in house.boards_of(shelf.subject(name))]
    return ["/", "/compare", *(f"/studies/{name}" for name in names), *boards]


def test_people_look_move_and_click() -> None:
    with visiting(shelved(*FEW)) as visitor:
        page = visitor.page
        for address in every_address(*FEW):
            visitor.visit(address)
        stored = made("profit").runs.row(0, named=True)
        visitor.visit("/studies/profit/profit")
        assert f"{stored['profit_per_s']:.4g} per second" in page.locator("#answer").inner_text()
        page.locator("#wish-pue").fill("2")
        visitor.until("location.search.includes('pue=2')")
        visitor.until("document.getElementById('answer').innerText.includes('goes from')")
        told = page.locator("#answer strong").first.inner_text()
        again = page.request.get(visitor.base + "/api/studies/profit/profit?pue=2").json()
        assert told == again["blocks"][0]["lines"][0]["lead"]
        visitor.visit("/studies/front/front")
        page.locator("#figure-front-plane .plot .mark-symbol path").first.click()
        visitor.until("location.search.includes('at=')")
        visitor.drawn()
        assert visitor.troubles == []


@pytest.mark.thorough("looks at pages in a browser")
def test_keys_move_sliders_by_their_steps_and_back_to_what_is_usual() -> None:
    def value() -> float:
        return float(slider.input_value())

    with visiting(shelved(*FEW)) as visitor:
        page = visitor.page
        visitor.visit("/studies/profit/profit")
        for key in ("n-0", "price"):
            slider = page.locator(f'[id="wish-{key}"]')
            low, high, step, usual = (
                float(slider.get_attribute(name) or 0) for name in ("min", "max", "data-step", "data-usual")
            )
            slider.focus()
            slider.press("ArrowRight")
            assert usual < value() <= usual + step
            slider.press("ArrowDown")
            assert value() == usual
            slider.press("ArrowLeft")
            assert usual - step <= value() < usual
            slider.press("ArrowUp")
            assert value() == usual
            slider.press("PageUp")
            assert value() == pytest.approx(min(usual + (high - low) / 10, high), abs=2 * step)
            slider.press("End")
            assert value() == high
            slider.press("Home")
            assert value() == low
        assert visitor.troubles == []


@pytest.mark.thorough("every page of every kind, drawn by a browser as on a laptop and a phone")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_is_drawn_and_open_to_all(width: int, scheme: str) -> None:
    with visiting(shelved(*TEXTS), viewport={"width": width, "height": 900}, color_scheme=scheme) as visitor:
        for address in every_address(*TEXTS):
            visitor.visit(address)
            assert visitor.is_narrow(), address
            assert serious(visitor) == [], address
        assert visitor.troubles == []


@pytest.mark.thorough("looks at pages in a browser")
def test_the_list_is_open_to_all() -> None:
    with visiting(shelved("profit")) as visitor:
        visitor.visit("/")
        assert serious(visitor) == []


@pytest.mark.thorough("looks at pages in a browser")
def test_focus_stays_where_it_is_and_keys_choose_without_leaving() -> None:
    """Where an answer is put in place anew, and where somebody goes through choices by keys."""
    with visiting(shelved("profit")) as visitor:
        page = visitor.page
        visitor.visit("/studies/profit/profit")
        page.locator("#answer .scroll").first.focus()
        page.locator("#wish-pue").evaluate("(slider) => { slider.value = 2; }")
        page.locator("#wish-pue").dispatch_event("input", {"bubbles": True})
        visitor.until("location.search.includes('pue=2')")
        assert page.evaluate("document.activeElement.className") == "scroll"
        visitor.visit("/")
        page.locator("#wish-status").focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.id") == "wish-status"
        page.locator("form.wishes button").press("Enter")
        visitor.until("location.search.includes('status=')")
