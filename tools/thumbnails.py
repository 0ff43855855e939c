"""Draw a small picture of every figure: `python -m tools.thumbnails`, or `make thumbnails`.

They are made of the bundled examples, made smaller, or swept where a figure needs that. The pictures are committed; a
test says when one is missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from joulewise.files import write_atomic
from joulewise.present.export import Spec, render, spec_of
from joulewise.present.gallery import ANY_SWEEP, described, figures_of, hung
from joulewise.present.html import vegalite_version
from joulewise.present.layout import Drawing
from joulewise.present.press import pressed
from joulewise.present.results import records_of
from joulewise.study import Results, read_study, run_study
from joulewise.study.parsing.examples import examples

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "figures"
_MOST_PX = 200
"""So wide and so high pictures are at most."""


@dataclass(frozen=True)
class Source:
    """A bundled example with other texts in place of some, and a section that `decides` in place of its variants."""

    example: str
    changes: Mapping[str, str] = field(default_factory=dict)
    decides: str = ""

    def run(self, folder: Path) -> Results:
        """Its results."""
        example = examples()[self.example]
        text = example.text
        for old, new in self.changes.items():
            assert old in text, old
            text = text.replace(old, new)
        text = text.partition("[[variant]]")[0] + self.decides if self.decides else text
        for name, content in example.named.items():
            (folder / name).write_bytes(content)
        (folder / "study.toml").write_text(text, encoding="utf-8")
        return run_study(read_study(folder / "study.toml"), folder / "results")


_POLICIES = 'policy = ["round-robin", "max-util", "max-max-upt"]  # a list is a sweep'
_SMALL_ROOM = {"trials = 3": "trials = 1", "nodes = 60": "nodes = 12", "generations = 500": "generations = 50"}
SOURCES = (
    Source("first", {"dropping_threshold = 0.5": "dropping_threshold = [0, 0.5, 1]"}),
    Source("first"),
    Source("first", {
        _POLICIES: 'policy = ["max-util", "max-max-upt"]',
        "tasks_per_day = 300": "tasks_per_day = [200, 300, 400]",
    }),
    Source("first", {
        "[manager]": '[supply]\nbudget = "9 MJ"\n\n[manager]\nenvironment = ["queued", "polled"]\n'
        'energy_filter = ["none", "fair-share"]\nleniency = [0.5, 0.75, 1.0]',
        _POLICIES: 'policy = ["max-max-upt", "max-max-upe"]',
    }),
    Source("first", {_POLICIES: 'policy = ["weighted-util", "weighted-upe"]\nweight = [0.2, 0.5, 0.8]'}),
    Source("clusters", {"trials = 8": "trials = 2"}),
    Source("clusters", {"trials = 8": "trials = 2", "leniency = 2.0": "leniency = [1.0, 2.0, 4.0]"}),
    Source(
        "clusters", {"trials = 8": "trials = 2", "jobs_per_day = 400": "jobs_per_day = [300, 400]"},
        '[scheduler]\npolicy = "max-upr"\nenergy_filter = ["per-task", "per-resource"]\nleniency = [1.0, 2.0, 4.0]\n',
    ),
    Source("trace"),
    Source("front"),
    Source("profit", {"trials = 3": "trials = 12", "n_tasks = 11_000": "n_tasks = [1_000, 4_000]"}),
    Source("profit", {
        "counts = [40, 40, 40, 40, 40, 40, 40, 40, 40]\n": "",
        'generator = "bag"\nn_tasks = 11_000': 'generator = "customers"\nn_tasks = 300\ncustomers_per_day = 40',
        '[supply]\npower_cap = "55 kW"\n': "",
        'goal = "profit"': 'goal = "pricing"\nmethod = "fixed"',
        'recovery = ["one", "best"]': "",
    }),
    Source("utility-front", {"moves = 2_000_000": "moves = 200_000"}),
    Source("utility-front", {
        'method = ["annealing", "nsga2"]': 'method = "nsga2"\nseeds = [["min-energy"], ["max-utility"], []]',
        "moves = 2_000_000\n": "",
    }),
    Source("stochastic-front", {"generations = 200": "generations = 50"}),
    Source("facility", _SMALL_ROOM),
    Source("facility-cap", {
        "trials = 3": "trials = 1", 'generator = "facility"\n': 'generator = "facility"\nnodes = 12\n',
        'power_cap = ["9 kW", "10 kW", "11 kW", "12 kW", "13 kW", "14 kW"]': 'power_cap = ["0.9 kW", "1 kW", "1.1 kW"]',
    }),
)  # fmt: skip
"""What figures are drawn of, each of the first that has it."""


def drawn() -> Iterator[tuple[str, Spec]]:
    """Every figure that the sources give, as they come, with its name in the list of figures."""
    names = {figure.name for figure in described()}
    for source in SOURCES:
        with TemporaryDirectory() as folder:
            records = records_of(source.run(Path(folder)))
        for figure, drawing in hung(records, figures_of(records)):
            if isinstance(drawing, Drawing):
                yield figure.name if figure.name in names else ANY_SWEEP, spec_of(drawing.chart)


def thumbnail(spec: Spec) -> bytes:
    """A small picture of a figure."""
    width, height = map(float, re.findall(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', str(render(spec, "svg")))[0])
    scale = min(1.0, _MOST_PX / width, _MOST_PX / height)
    return bytes(pressed("vegalite_to_png", spec, vl_version=vegalite_version(), scale=scale))


def main() -> None:
    """Write the pictures, and say which figures have none."""
    missing = {figure.name for figure in described()}
    for name, spec in drawn():
        if name in missing:
            write_atomic(FOLDER / f"{name}.png", thumbnail(spec))
            missing.remove(name)
    if missing:
        sys.exit(f"Nothing draws {', '.join(sorted(missing))}.")


if __name__ == "__main__":
    main()
