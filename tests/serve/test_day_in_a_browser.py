"""Days as people see them: drawn, looked at more closely with mouse and keyboard, and without scripts."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.strategies.browsing import IN_BROWSER, visiting
from tests.strategies.every_kind import made

pytestmark = IN_BROWSER
_PAGE = "/studies/results/day"


@pytest.mark.thorough("looks at pages in a browser")
@pytest.mark.parametrize("name", ["managed", "jobs"])
def test_a_span_looks_closer(name: str) -> None:
    with visiting(made(name).folder.parent, viewport={"width": 1280, "height": 900}) as visitor:
        page = visitor.page
        visitor.visit(_PAGE)
        whole = page.locator(".facts").inner_text()
        for figure in ("utility", "machines"):
            visitor.span(figure, (0.4, 0.6))
        asked = {key: float(values[0]) for key, values in parse_qs(urlsplit(page.url).query).items()}
        assert set(asked) == {"from", "to"}
        assert asked["from"] < asked["to"]
        assert page.locator(".facts").inner_text() != whole
        page.get_by_role("link", name="All of it").click()
        assert page.locator(".facts").inner_text() == whole
        assert visitor.troubles == []


@pytest.mark.thorough("looks at pages in a browser")
def test_a_slider_is_moved_by_keys_on_a_phone() -> None:
    results = made("managed")
    with visiting(results.folder.parent, viewport={"width": 400, "height": 800}) as visitor:
        page = visitor.page
        visitor.visit(_PAGE)
        assert visitor.is_narrow()
        row = results.runs.row(0, named=True)
        assert f"{row['tasks_completed']:,}" in page.locator(".facts").inner_text()
        heading = page.locator("h2").first.inner_text()
        page.get_by_label("To", exact=True).focus()
        for _ in range(5):
            page.keyboard.press("PageDown")
        page.locator("h2").first.filter(has_not_text=heading).wait_for()
        assert "to=" in page.url
        assert visitor.troubles == []


@pytest.mark.thorough("looks at pages in a browser")
def test_a_form_asks_without_scripts() -> None:
    with visiting(made("managed").folder.parent, java_script_enabled=False) as visitor:
        page = visitor.page
        page.goto(visitor.base + _PAGE)
        page.get_by_label("Machines by").select_option("power")
        page.get_by_role("button", name="Show").click()
        assert "shade=power" in page.url
        page.get_by_role("link", name="Closer").click()
        assert {"from", "to", "shade"} <= set(parse_qs(urlsplit(page.url).query))
