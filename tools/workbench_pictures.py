"""Take the pictures of the workbench that the docs show: `python -m tools.workbench_pictures`, or `make pictures`.

Bundled examples are run into a temporary folder, and Chromium visits a workbench over them. The pictures are committed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "workbench"
STUDIES = ("clusters", "front", "profit", "facility")
_COMMAND = [sys.executable, "-m", "joulewise"]
_LONGEST_MS = 180_000


class Shot(NamedTuple):
    """A picture: its name, the address of the page, and how high it is."""

    name: str
    address: str
    height: int
    scheme: str = "light"


SHOTS = (
    Shot("studies", "/", 620),
    Shot("day", "/studies/results-clusters/day", 1250),
    Shot("front", "/studies/results-front/front?at=3&against=20", 1250),
    Shot("profit", "/studies/results-profit/profit?point=5&cap=45", 1050),
    Shot("facility", "/studies/results-facility/facility?cap=3.6", 1180),
    Shot("run", "/run/edit?study=clusters.toml", 900, "dark"),
    Shot("play", "/play?lesson=budget&budget=30", 1250),
)


@contextmanager
def workbench(folder: Path) -> Iterator[str]:
    """A workbench over a folder: where it is."""
    with subprocess.Popen(
        [*_COMMAND, "serve", str(folder), "--port", "0", "--no-open"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            yield line.split()[-1].rstrip("/")
        finally:
            process.terminate()


def make_studies(folder: Path) -> None:
    """Run the examples."""
    for name in STUDIES:
        subprocess.run([*_COMMAND, "new", f"{name}.toml", "--example", name], cwd=folder, check=True)
        subprocess.run([*_COMMAND, "run", f"{name}.toml"], cwd=folder, check=True)


def take(browser: Any, base: str, shot: Shot) -> None:
    """Visit a page and keep what is seen, once all figures are drawn."""
    page = browser.new_page(viewport={"width": 1180, "height": shot.height}, color_scheme=shot.scheme)
    page.set_default_timeout(_LONGEST_MS)
    page.goto(base + shot.address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(3000)  # what is solved beside the page comes a little later
    page.screenshot(path=FOLDER / f"{shot.name}.png")
    page.close()


def main() -> None:
    """Take all pictures, or those that are named."""
    from playwright.sync_api import sync_playwright

    named = sys.argv[1:] or [shot.name for shot in SHOTS]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, sync_playwright() as play:
        make_studies(Path(name))
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with workbench(Path(name)) as base:
            for shot in SHOTS:
                if shot.name in named:
                    take(browser, base, shot)
        browser.close()


if __name__ == "__main__":
    main()
