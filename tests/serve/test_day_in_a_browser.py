"""Days as people see them: drawn, looked at more closely with mouse and keyboard, and without scripts."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.strategies.browsing import browsing, needs_browser, serving
from tests.strategies.every_kind import made

_PAGE = "/studies/results/day"


@needs_browser
@pytest.mark.parametrize(
    "name", ["managed", pytest.param("jobs", marks=pytest.mark.thorough("another system in the same browser"))]
)
def test_a_span_looks_closer(name: str) -> None:
    with serving(made(name).folder.parent) as address, browsing(viewport={"width": 1280, "height": 900}) as browser:
        page = browser.page
        page.goto(address + _PAGE)
        browser.drawn()
        whole = page.locator(".facts").inner_text()
        for figure in ("utility", "machines"):
            browser.span(figure, (0.4, 0.6))
        asked = {key: float(values[0]) for key, values in parse_qs(urlsplit(page.url).query).items()}
        assert set(asked) == {"from", "to"}
        assert asked["from"] < asked["to"]
        assert page.locator(".facts").inner_text() != whole
        page.get_by_role("link", name="All of it").click()
        assert page.locator(".facts").inner_text() == whole
        assert browser.troubles == []


@needs_browser
def test_a_slider_is_moved_by_keys_on_a_phone() -> None:
    results = made("managed")
    with serving(results.folder.parent) as address, browsing(viewport={"width": 400, "height": 800}) as browser:
        page = browser.page
        page.goto(address + _PAGE)
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        row = results.runs.row(0, named=True)
        assert f"{row['tasks_completed']:,}" in page.locator(".facts").inner_text()
        heading = page.locator("h2").first.inner_text()
        page.get_by_label("To", exact=True).focus()
        for _ in range(5):
            page.keyboard.press("PageDown")
        page.locator("h2").first.filter(has_not_text=heading).wait_for()
        assert "to=" in page.url
        assert browser.troubles == []


@needs_browser
def test_a_form_asks_without_scripts() -> None:
    with serving(made("managed").folder.parent) as address, browsing(java_script_enabled=False) as browser:
        page = browser.page
        page.goto(address + _PAGE)
        page.get_by_label("Machines by").select_option("power")
        page.get_by_role("button", name="Show").click()
        assert "shade=power" in page.url
        page.get_by_role("link", name="Closer").click()
        assert {"from", "to", "shade"} <= set(parse_qs(urlsplit(page.url).query))
