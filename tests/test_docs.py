"""Hand-written pages: the files they name exist, the works they cite are in the bibliography."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import joulewise as jw
from joulewise.present.gallery import described
from tests.strategies.sources import PACKAGE
from tests.test_project import ROOT
from tools import changes, reference

PAGES = [
    page
    for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
    if not (page.parent == reference.FOLDER and page.name in reference.PAGES)
]
ROOMS = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
OF_PACKAGE = re.compile(rf"`((?:{ROOMS})/[\w<>/.]*)`")
OF_PROJECT = re.compile(r"`((?:tests|tools|benchmarks|containers)/[\w<>/.-]*)`")
WORKS = r"Friese 2015|Machovec et al\. 2016|Tarplee et al\. 2014|Oxley et al\. 2014"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(page: Path, pattern: re.Pattern[str], folder: Path) -> Iterator[tuple[str, str]]:
    """The paths that a page names and that do not exist in a folder; `<system>` and `<room>` stand for any."""
    for name in pattern.findall(text_of(page)):
        if not list(folder.glob(re.sub(r"<\w+>", "*", name).rstrip("/"))):
            yield page.name, name


def test_files_that_pages_name_exist() -> None:
    missing = [pair for page in PAGES for pair in named(page, OF_PACKAGE, PACKAGE)]
    assert missing + [pair for page in PAGES for pair in named(page, OF_PROJECT, ROOT)] == []


def study_names() -> Iterator[tuple[str, str]]:
    """The names of the studies in pages, each with its page; names of variants and programs are others."""
    for page in PAGES:
        for block in re.findall(r"```toml\n(.*?)```", text_of(page), re.DOTALL):
            for name in re.findall(r'^name = "(.+)"', block.partition("\n[")[0], re.MULTILINE):
                yield name, page.name


def test_no_two_pages_use_one_name_for_a_study() -> None:
    """Their results would go to one folder."""
    pages: dict[str, set[str]] = {}
    for name, page in study_names():
        pages.setdefault(name, set()).add(page)
    assert {name: found for name, found in pages.items() if len(found) > 1} == {}


def test_a_chapter_is_one_of_a_named_work() -> None:
    """In pages that explain; in the reproduction the heading of its part says it."""
    pages = [page for page in PAGES if page.stem not in ("reproduction", "bibliography")]
    alone = re.compile(rf"(?<!{WORKS.split('|')[0]}, )(?<!\w)[Cc]hapters? \d")
    texts = {page.name: re.sub(r"\s+|\]\([^)]*\)", " ", text_of(page)).replace(" ,", ",") for page in PAGES}
    assert [(page.name, alone.findall(texts[page.name])) for page in pages if alone.search(texts[page.name])] == []


def test_cited_works_are_in_the_bibliography() -> None:
    headings = re.findall(r"^### (.+)$", text_of(ROOT / "docs" / "bibliography.md"), re.MULTILINE)
    cited = {work for page in PAGES for work in re.findall(WORKS, text_of(page))}
    assert cited <= set(headings)


def test_every_figure_has_a_small_picture() -> None:
    """`make thumbnails` draws them; the page of all of them stays light."""
    pictures = {path.stem: path.stat().st_size for path in (ROOT / "docs" / "images" / "figures").iterdir()}
    assert set(pictures) == {figure.name for figure in described()}
    assert sum(pictures.values()) < 1_000_000


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_the_studies_of_changes_are_sound(tmp_path: Path) -> None:
    paths = changes.files_of(text_of(changes.PAGE), tmp_path)
    assert [jw.read_study(path).name for path in paths] == [path.stem for path in paths]
    assert all(f"<!-- {path.stem} -->" in text_of(changes.PAGE) for path in paths)


@pytest.mark.thorough("150 runs of weeks")
def test_the_tables_of_changes_come_out() -> None:
    page = text_of(changes.PAGE)
    assert changes.written(page) == page


def test_the_converter_of_batsim_workloads_works(tmp_path: Path) -> None:
    page = text_of(ROOT / "docs" / "how-to" / "coming-from" / "batsim.md")
    block = dict(re.findall(r"```(json|python|toml)\n(.*?)```", page, re.DOTALL))
    (tmp_path / "workload.json").write_text(block["json"], encoding="utf-8")
    (tmp_path / "from-batsim.toml").write_text(block["toml"], encoding="utf-8")
    subprocess.run([sys.executable, "-c", block["python"], "workload.json"], cwd=tmp_path, check=True)
    system = jw.jobs.read_clusters(jw.jobs.ClusterTables(clusters="clusters.csv"), tmp_path)
    system, jobs = jw.jobs.read(jw.jobs.Table(jobs="jobs.csv"), system, tmp_path)
    assert (system.clusters.names, jobs.n_jobs) == (("hosts",), 4)
    jw.read_study(tmp_path / "from-batsim.toml")
