"""A person at the workbench: a study is written, run and looked at, and a small day is played."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from joulewise.serve.play.compiling import compile_all
from joulewise.serve.play.day import Setting, played
from tests.strategies.calling import started

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT_MS = 120_000

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium"),
    pytest.mark.thorough("a browser, a workbench and a run in processes of their own"),
]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a workbench over an empty folder."""
    process = started(tmp_path, "serve", ".", "--port", 0, "--no-open")
    assert process.stdout is not None
    try:
        said = re.search(r"http://\S+", process.stdout.readline())
        assert said is not None
        yield said[0].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@contextmanager
def opened(width: int = 1280, scheme: str = "light") -> Iterator[tuple[Page, list[str]]]:
    """A page of a browser, and what it complains of."""
    from playwright.sync_api import sync_playwright

    troubles: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        yield page, troubles
        browser.close()


def serious(page: Page) -> list[str]:
    """What axe finds that keeps people out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]


def test_what_could_not_be_checked_is_checked_again(address: str) -> None:
    with opened() as (page, _):
        page.goto(f"{address}/run")
        page.get_by_role("link", name="New study").click()
        page.get_by_label("Name").fill("mine")
        page.get_by_label("It starts from").select_option("example:first")
        page.get_by_role("button", name="Make it").click()
        page.get_by_role("heading", name="Nothing wrong").wait_for()
        page.route("**/api/run/check", lambda route: route.fulfill(status=503), times=1)
        text = page.get_by_label("The study")
        text.press("Control+End")
        text.press_sequentially("energy_filter = 1")
        page.get_by_role("heading", name="1 problem").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_a_study_is_written_run_and_looked_at(width: int, scheme: str, address: str, tmp_path: Path) -> None:
    with opened(width, scheme) as (page, troubles):
        page.goto(f"{address}/run")
        page.get_by_role("link", name="New study").click()
        assert serious(page) == []
        page.get_by_label("Name").fill("mine")
        page.get_by_label("It starts from").select_option("example:first")
        page.get_by_role("button", name="Make it").click()
        page.get_by_role("heading", name="Nothing wrong").wait_for()

        text = page.get_by_label("The study")
        text.press("Control+End")
        text.press_sequentially("energy_filter = ad")
        page.get_by_role("option").first.wait_for()
        text.press("ArrowDown")
        assert text.get_attribute("aria-activedescendant") == "offer-0"
        assert serious(page) == []
        text.press("Enter")
        assert text.input_value().rstrip().endswith('energy_filter = "adaptive"')
        page.get_by_role("heading", name="1 problem").wait_for()  # immediate policies know no budget
        page.get_by_role("button", name=re.compile(r"Line \d+")).click()
        text.press("Control+End")
        for _ in 'energy_filter = "adaptive"':
            text.press("Backspace")
        page.get_by_role("heading", name="Nothing wrong").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == width

        page.get_by_role("button", name="Save and run").click()
        page.wait_for_url(re.compile(r"/run/orders/1$"))
        page.get_by_role("link", name="What came out").wait_for()
        assert page.locator("progress").get_attribute("value") == "9"
        assert "9 of 9 runs are there" in page.locator("#line").inner_text()
        assert serious(page) == []
        page.get_by_role("link", name="What came out").click()
        page.wait_for_url(re.compile(r"/studies/"))
    assert troubles == []
    assert pl.read_parquet(tmp_path / "results" / "mine" / "runs.parquet").height == 9


def test_a_day_is_played_with_sliders(address: str) -> None:
    compile_all()
    with opened() as (page, troubles):
        page.goto(f"{address}/play")
        page.get_by_role("link", name="3. When energy runs out").click()
        page.wait_for_url(re.compile(r"lesson=budget"))
        page.wait_for_function("document.querySelectorAll('.plot svg').length === 4")
        page.get_by_label("Energy budget").press("ArrowRight")
        page.wait_for_url(re.compile(r"budget=31"))
        assert serious(page) == []
        told = page.locator("table td").first.inner_text()
    assert troubles == []
    setting = Setting(("max-max-util",), 700, 0.5, 31.0, "queued", "none", 1.0, 0)
    (columns,) = played(setting).columns.values()
    assert told == f"{columns['utility']:,.1f}"
