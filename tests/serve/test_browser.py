"""A browser on the workbench: pages are loaded, moved and clicked, and say what the command line says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from joulewise.serve import house
from tests.strategies.every_kind import TEXTS, made
from tests.strategies.served import served, serving, shelved

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FEW = ("facility", "front", "profit")
WAIT_MS, STEP_MS = 60_000, 50
_DRAWN = """[...document.querySelectorAll('.plot')].every(
    (plot) => plot.closest('details:not([open])') || plot.querySelector('svg'))"""


class Visitor:
    """A page of a browser that notes what goes wrong."""

    def __init__(self, page: Any, base: str) -> None:
        self.page, self.base = page, base
        self.troubles: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda told: self.troubles.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda asked: self._note(asked.url))

    def _note(self, url: str) -> None:
        if not url.startswith((self.base, "data:", "blob:")):
            self.troubles.append(f"asked {url}")

    def visit(self, address: str) -> None:
        """Open a page, and wait until its figures are drawn."""
        reply = self.page.goto(self.base + address)
        assert reply.status == 200, address
        self.drawn()

    def drawn(self) -> None:
        """Wait until every figure is drawn that is not behind a fold."""
        self.until(_DRAWN)

    def until(self, holds: str) -> None:
        """Wait for something to hold; asked by us, as the page may evaluate no text."""
        for _ in range(WAIT_MS // STEP_MS):
            if self.page.evaluate(holds):
                return
            self.page.wait_for_timeout(STEP_MS)
        raise AssertionError(f"never: {holds}")

    def is_narrow(self) -> bool:
        """Whether nothing is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@contextmanager
def visiting(folder: Path, **options: Any) -> Iterator[Visitor]:
    """A browser on a workbench over a folder."""
    from playwright.sync_api import sync_playwright

    with serving(folder) as base, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield Visitor(browser.new_context(**options).new_page(), base)
        finally:
            browser.close()


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


@pytest.mark.thorough("every page of every kind, drawn by a browser as on a laptop and a phone")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_is_drawn_and_open_to_all(width: int, scheme: str) -> None:
    with visiting(shelved(*TEXTS), viewport={"width": width, "height": 900}, color_scheme=scheme) as visitor:
        for address in every_address(*TEXTS):
            visitor.visit(address)
            assert visitor.is_narrow(), address
            assert serious(visitor) == [], address
        assert visitor.troubles == []


def test_the_list_is_open_to_all() -> None:
    with visiting(shelved("profit")) as visitor:
        visitor.visit("/")
        assert serious(visitor) == []
