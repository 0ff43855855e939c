"""A browser that looks at a workbench on this machine, and what troubles it met."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from joulewise.serve.app import create_app
from joulewise.serve.bench import Settings
from tests.strategies.served import HereDesk

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
_PATIENCE_MS = 180_000


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a workbench over a folder, as long as it is looked at."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        app = create_app(Settings(folder), HereDesk())
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@dataclass(frozen=True)
class Browser:
    """A page of a browser, and everything that troubled it."""

    page: Any
    troubles: list[str]

    def drawn(self) -> None:
        """Wait until all figures that are not folded are drawn."""
        shown = self.page.locator(".plot:visible")
        for i in range(shown.count()):
            shown.nth(i).locator("svg.marks").wait_for()

    def span(self, figure: str, part: tuple[float, float]) -> None:
        """Draw a span along a figure, between these parts of its width, and wait for the page that opens."""
        place = self.page.locator(f"#figure-{figure} .plot svg.marks")
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        first, last = (box["x"] + each * box["width"] for each in part)
        middle = box["y"] + box["height"] / 2
        with self.page.expect_navigation():
            self.page.mouse.move(first, middle)
            self.page.mouse.down()
            self.page.mouse.move((first + last) / 2, middle, steps=3)
            self.page.mouse.move(last, middle, steps=3)
            self.page.mouse.up()
        self.drawn()


@contextmanager
def browsing(**settings: Any) -> Iterator[Browser]:
    """A browser with a page of its own, such as a narrow or a dark one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, troubles = browser.new_page(**settings), list[str]()
        page.set_default_timeout(_PATIENCE_MS)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        yield Browser(page, troubles)
        browser.close()
