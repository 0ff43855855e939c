"""The page on how cost grows: its tables, between markers, and its figures, made from the figures of one result.

A part stands between `<!-- scaling NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT
from benchmarks.scaling import CURVES, PLANNED
from benchmarks.slopes import last_slope
from benchmarks.watching import ENGINES, LENGTHS, POINTS, RUNS_MS, SATURATING, WATCHED, WORKERS
from joulewise.errors import Problem, raise_if_any
from joulewise.files import write_atomic
from joulewise.present.export import export
from joulewise.present.theme import CONFIG, PALETTE
from joulewise.study.parsing.study import MAX_RUNS
from joulewise.units import size

PAGE = ROOT / "docs" / "explanation" / "scaling.md"
_PART = re.compile(r"(<!-- scaling (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MANY_RUNS = 10_000_000
_STUDIES = _MANY_RUNS // MAX_RUNS
_WIDTH, _HEIGHT = 230, 190

Figures = Mapping[str, float]


def write_page(result: Mapping[str, Any], page: Path = PAGE) -> None:
    """Write what was measured into a page and beside it; InputError where the page has no place for a part."""
    figures: Figures = result["figures"]
    text, parts = page.read_text(encoding="utf-8"), {name: part(figures) for name, part in PARTS.items()}
    parts["measured"] = _measured(result)
    allowed = f"the parts are {', '.join(parts)}"
    advice = "put `<!-- scaling NAME -->` and `<!-- end -->` where the table of each part belongs"
    strange = sorted(parts.keys() ^ {name for _, name, _ in _PART.findall(text)})
    raise_if_any(Problem(str(page), f"lacks {name}, or has it in vain", allowed, advice) for name in strange)
    write_atomic(page, _PART.sub(lambda part: f"{part[1]}{parts[part[2]]}{part[3]}", text))
    export(_curves_chart(figures), page.parent.parent / "images" / "scaling-curves.png")
    export(_workers_chart(figures), page.parent.parent / "images" / "scaling-workers.png")


# Tables


def _measured(result: Mapping[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    libraries = ", ".join(f"{name} {versions[name]}" for name in ("numpy", "numba", "polars") if name in versions)
    where = f"{machine['cores']} cores ({machine['processor']}, {machine['system']}), Python {machine['python']}"
    return f"Measured on {datetime.now(UTC):%Y-%m-%d} with seed {result['seed']}, on {where}, {libraries}.\n"


def _curve_rows(figures: Figures) -> Iterator[Sequence[str]]:
    for name, curve in _curves().items():
        sizes = _sizes(figures, name)
        low, high = (figures[f"{name}.slope_{end}"] for end in ("low", "high"))
        first, last = min(sizes), max(sizes)
        costs = f"{_seconds(sizes[first])} to {_seconds(sizes[last])}"
        slope = f"{figures[f'{name}.slope']:.2f} ({low:.2f} to {high:.2f})"
        yield curve.cost, curve.size, f"{first:,} to {last:,}", costs, slope, f"{last_slope(sizes):.2f}"


def _curve_table(figures: Figures) -> str:
    heads = ("what takes time", "what grows", "measured from, to", "seconds", "slope", "between the last two")
    return _table(heads, _curve_rows(figures))


def _site_rows(figures: Figures) -> Iterator[Sequence[str]]:
    for name, curve in _curves().items():
        for at in curve.of_site:
            seconds, way = _told(figures, name, at)
            yield curve.cost, f"{at:,} {curve.size.partition(',')[0]}", seconds, way


def _site_table(figures: Figures) -> str:
    return _table(("what takes time", "size", "seconds", "how known"), _site_rows(figures))


def _study_rows(figures: Figures) -> Iterator[Sequence[str]]:
    measured = f"one of a million computed from the slope, measured up to {{:,}}, times {_STUDIES}"
    for name in ("planned", "stored", "trials"):
        low, middle, high = (_long(_STUDIES * figures[f"{name}.at_{MAX_RUNS}.s{end}"]) for end in ("_low", "", "_high"))
        way = measured.format(max(_sizes(figures, name)))
        yield f"{_curves()[name].cost}, in all", f"{middle} ({low} to {high})", way
    for points, run_ms in product(POINTS, (100, 10_000)):
        what = f"runs of {run_ms / 1e3:g} s on {WORKERS[-1]:,} workers, points in a world: {points}"
        yield f"{what}; with storing", _long(_shared_s(figures, points, run_ms)), "computed by the model below"
    yield from _memory_rows(figures)
    row = figures["bytes.row"]
    yield "disk for the tables of runs", size(row * _MANY_RUNS), f"{row:,.0f} bytes a run, measured, times 10 million"


def _shared_s(figures: Figures, points: int, run_ms: int) -> float:
    """How long many workers take, by the model, which has the journal, and then what it has not: fragments, merging."""
    pace = figures[f"model.{_MANY}.{points}.{WORKERS[-1]}.{run_ms}_ms.runs_per_s"]
    return _MANY_RUNS / pace + _STUDIES * figures[f"stored.at_{MAX_RUNS}.s"]


def _memory_rows(figures: Figures) -> Iterator[Sequence[str]]:
    each, no_runs = figures["memory.run.bytes"], figures["memory.no_runs.mb"] * 2**20
    way = f"{_digits(each)} bytes a run: the slope of the most that processes held, with up to {PLANNED[-1]:,} runs"
    yield "memory of a process that plans one study of a million", size(no_runs + each * MAX_RUNS), way
    yield "the same, were ten million in one study", size(no_runs + each * _MANY_RUNS), way


def _study_table(figures: Figures) -> str:
    return _table(("what", "how much", "how known"), _study_rows(figures))


_TITLES = {"local": "local processes", "dask": "Dask"}
_MANY = "dask"
"""The engine that can have so many workers."""


def _cost_table(figures: Figures) -> str:
    whose = {
        "job_s": "coordinator, each job", "run_s": "coordinator, each run", "worker_job_s": "worker, each job",
        "worker_run_s": "worker, each run beside its computing",
    }  # fmt: skip
    rows = [(what, *(_cell(figures[f"cost.{name}.{cost}_ms"]) for name in ENGINES)) for cost, what in whose.items()]
    return _table(("milliseconds", *(_TITLES[name] for name in ENGINES)), rows)


def _check_table(figures: Figures) -> str:
    rows = []
    for name, length, n in product(ENGINES, LENGTHS, WATCHED):
        place = f"workers.{name}.{length}.{n}"
        busy, model = (f"{100 * figures[f'{place}.{which}']:.1f} %" for which in ("busy", "model"))
        rows.append((_TITLES[name], f"{figures[f'{place}.run_ms']:.3g} ms", str(n), busy, model))
    return _table(("engine", "a run takes", "workers", "busy, measured", "busy, by the model"), rows)


def _saturated_table(figures: Figures) -> str:
    rows: list[Sequence[str]] = [("1", _cell(figures["saturated.1.job_ms"]), "", "")]
    for n in SATURATING:
        cells = (figures[f"saturated.{n}.{each}"] for each in ("job_ms", "measured", "model"))
        rows.append((f"{n:,}", *map(_cell, cells)))
    heads = ("workers", "coordinator, each job (ms)", "jobs a second, measured", "jobs a second, by the model")
    return _table(heads, rows)


def _cell(value: float) -> str:
    """A number of two or three digits; a cost that a difference of two could not tell from none."""
    return _digits(value) if value > 0 else "not measurable"


def _many_table(figures: Figures) -> str:
    rows = []
    for points, n in product(POINTS, WORKERS):
        cells = [_pace(figures, f"model.{_MANY}.{points}.{n}.{run_ms}_ms") for run_ms in RUNS_MS]
        rows.append((str(points), f"{n:,}", *cells))
    lengths = [f"runs of {run_ms / 1e3:g} s" for run_ms in RUNS_MS]
    return _table(("points in a world", "workers", *lengths), rows)


def _least_table(figures: Figures) -> str:
    rows = []
    for points, n in product(POINTS, WORKERS):
        least = [figures[f"model.{name}.{points}.{n}.least_run_s"] for name in ENGINES]
        rows.append((str(points), f"{n:,}", *map(_seconds, least)))
    return _table(("points in a world", "workers", *(_TITLES[name] for name in ENGINES)), rows)


def _pace(figures: Figures, name: str) -> str:
    return f"{100 * figures[f'{name}.busy']:.2g} %, {_digits(figures[f'{name}.runs_per_s'])} a second"


PARTS: Mapping[str, Callable[[Figures], str]] = {
    "curves": _curve_table,
    "site": _site_table,
    "study": _study_table,
    "costs": _cost_table,
    "check": _check_table,
    "saturated": _saturated_table,
    "many": _many_table,
    "least": _least_table,
}
"""What stands in the page, beside when and where it was measured."""


def _curves() -> Mapping[str, Any]:
    return {name: curve for curves in CURVES.values() for name, curve in curves.items()}


def _sizes(figures: Figures, name: str) -> dict[int, float]:
    """The sizes of a curve that were measured, and their seconds."""
    found = (re.fullmatch(rf"{name}\.(\d+)\.s", figure) for figure in figures)
    return {int(each[1]): figures[each[0]] for each in found if each}


def _told(figures: Figures, name: str, at: int) -> tuple[str, str]:
    """The seconds of a curve at a size, and whether they were measured."""
    measured = _sizes(figures, name)
    if at in measured:
        return _seconds(measured[at]), "measured"
    place = f"{name}.at_{at}.s"
    low, high = (_seconds(figures[f"{place}_{end}"]) for end in ("low", "high"))
    return f"{_seconds(figures[place])} ({low} to {high})", f"computed from the slope, measured up to {max(measured):,}"


def _seconds(value: float) -> str:
    """Seconds to three digits, as people write them."""
    return f"{_digits(value)} s" if value >= 1 else f"{_digits(1e3 * value)} ms"


def _long(value: float) -> str:
    """Seconds to three digits, in minutes, hours or days where there are many."""
    units = {"days": 86_400, "hours": 3_600, "minutes": 60}
    return next(
        (f"{_digits(value / unit)} {name}" for name, unit in units.items() if value >= 2 * unit), _seconds(value)
    )


def _digits(value: float) -> str:
    """A number to three digits, the places before the point in full."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    lines = (heads, ("---",) * len(heads), *rows)
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


# Figures


def _curves_chart(figures: Figures) -> Any:
    """Every curve as it was measured, over how many times as large as its first size it is."""
    import altair as alt

    panels = []
    doubling = alt.Scale(type="log", base=2)
    doublings = alt.Axis(values=[2.0**n for n in range(-4, 11)])
    for group, curves in CURVES.items():
        rows = [
            {"curve": name.replace("_", " "), "times": at / min(sizes), "cost": cost / sizes[min(sizes)]}
            for name in curves
            for sizes in [_sizes(figures, name)]
            for at, cost in sizes.items()
        ]
        order = [name.replace("_", " ") for name in curves]
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=group)
            .mark_line(point=True)
            .encode(
                alt.X("times:Q", title="times the first size", scale=doubling, axis=doublings),
                alt.Y("cost:Q", title="times its cost", scale=doubling, axis=doublings),
                alt.Color("curve:N", title=None, sort=order, scale=alt.Scale(domain=order, range=list(PALETTE)),
                          legend=alt.Legend(orient="bottom", columns=1)),
            )
            .properties(width=_WIDTH, height=_HEIGHT)
        )  # fmt: skip
    return alt.concat(*panels, columns=3).resolve_scale(color="independent").configure(**CONFIG)


def _workers_chart(figures: Figures) -> Any:
    """How busy workers are by their number, a line for each length of runs."""
    import altair as alt

    lengths = [f"{run_ms / 1e3:g} s" for run_ms in RUNS_MS]
    panels = []
    for points in POINTS:
        rows = [
            {"workers": n, "busy": 100 * figures[f"model.{_MANY}.{points}.{n}.{run_ms}_ms.busy"], "length": length}
            for n in WORKERS
            for run_ms, length in zip(RUNS_MS, lengths, strict=True)
        ]
        shared = "one point in a world" if points == 1 else f"{points} points in a world"
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=shared)
            .mark_line(point=True)
            .encode(
                alt.X("workers:Q", title="workers", scale=alt.Scale(type="log"), axis=alt.Axis(values=list(WORKERS))),
                alt.Y("busy:Q", title="busy (%)", scale=alt.Scale(domain=[0, 100])),
                alt.Color("length:N", title="a run takes", sort=lengths,
                          scale=alt.Scale(domain=lengths, range=list(PALETTE))),
            )
            .properties(width=_WIDTH, height=_HEIGHT)
        )  # fmt: skip
    return alt.hconcat(*panels).configure(**CONFIG)
