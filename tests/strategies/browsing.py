"""A browser on a workbench of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.strategies.served import serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
"""The marks of tests that look at pages in a browser."""
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

    def span(self, figure: str, part: tuple[float, float]) -> None:
        """Draw a span along a figure, between these parts of its width, and wait for the page that opens."""
        place, mouse = self.page.locator(f"#figure-{figure} .plot svg.marks"), self.page.mouse
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        first, last = (box["x"] + each * box["width"] for each in part)
        middle = box["y"] + box["height"] / 2
        with self.page.expect_navigation():
            mouse.move(first, middle)
            mouse.down()
            mouse.move((first + last) / 2, middle, steps=3)
            mouse.move(last, middle, steps=3)
            mouse.up()
        self.drawn()

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
