"""What the cores of a few nodes do: shares of their time by task type, core by core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.facility.view import (
    CORES,
    NODES,
    RATES,
    first_kept,
    ranked_runs,
    settings_beside,
    spread_out,
    technique_key,
)
from joulewise.present.formats import number
from joulewise.present.layout import Drawing, all_panels, assemble, inline, pixels
from joulewise.present.parts import layer
from joulewise.present.records import Records
from joulewise.units import count

COLUMNS = ("node", "processor", "core", "task", "class", "share", "pstate")
NODE_COLUMNS = ("node", "name", "type", "cores", "processors")
MOST_NODES, _MOST_CORES, _MOST_PANELS = 5, 64, 4
_WIDTH_PX, _HEIGHT_PX, _MOST_CORE_PX = 700, 190, 40
_NODE_GAP, _PROCESSOR_GAP, _CORE_GAP = 0.8, 0.3, 0.08  # in widths of a core
_CHARACTER_PX, _LEAST_PX = 6.0, 13.0  # what a word needs to stand in its bar
_REST = "at rest"
_CLASSES = ("light", "medium", "heavy")


@dataclass(frozen=True)
class _Stand:
    """Where a core stands: the place of its left edge, in widths of a core, and what it is of."""

    core: int
    node: str
    left: float


@dataclass(frozen=True)
class _Stands:
    """What all panels share: the nodes in their order, where their cores stand, and how task types look."""

    nodes: Sequence[Mapping[str, Any]]
    stands: Sequence[_Stand]
    looks: Mapping[str, str]

    @property
    def width(self) -> float:
        return self.stands[-1].left + 1

    @property
    def core_px(self) -> float:
        return min(_MOST_CORE_PX, _WIDTH_PX / self.width)


def has_cores(records: Records) -> bool:
    """Whether the plan of some facility was kept, core by core."""
    return records.n_runs > 0 and records.keeps(CORES, *COLUMNS) and records.keeps(NODES, *NODE_COLUMNS)


def cores_of_nodes(records: Records) -> Drawing:
    """Stacked shares of the time of each core by task type, one panel per technique at the setting that earned most."""
    key = technique_key(records)
    runs = first_kept(records, records.frame(CORES))
    best = ranked_runs(records, runs)[0]["run"]
    panels = all_panels(records, runs, settings_beside(records, key))
    panel = next(panel for panel in panels if best in panel.rows["run"])
    ranked = ranked_runs(records, panel.rows)
    shown = spread_out(ranked, _MOST_PANELS)
    scene = _scene(records, shown)
    parts = [_panel(records, run, records.phrases(run, [key]), scene) for run in shown]
    n_left = runs.height - len(shown)
    left = f" {count(n_left, 'further plan')} not shown." if n_left else ""
    where = f" At {panel.title}." if panel.title else ""
    n_nodes = records.frame(NODES)["node"].n_unique()
    caption = (
        f"Shares of the time of each core by task type, for {len(scene.nodes)} of {n_nodes:,} "
        "nodes: the busiest of each node type in the best plan. Cores that touch share a processor, and slow each "
        f"other; what is left white is {_REST}. Task types are ordered by memory class, the heavier the darker. "
        f"First kept trial.{where}{left}"
    )
    return Drawing(assemble(parts), caption)


def _scene(records: Records, shown: Sequence[Mapping[str, Any]]) -> _Stands:
    best = shown[0]["run"]
    nodes = records.frame(NODES).filter(run=best).with_columns(first=pl.col("cores").cum_sum() - pl.col("cores"))
    chosen = chosen_nodes(nodes, records.frame(CORES).filter(run=best))
    runs = [run["run"] for run in shown]
    return _Stands(chosen, list(_stands(chosen)), _looks(records, runs, [node["node"] for node in chosen]))


def chosen_nodes(nodes: pl.DataFrame, cores: pl.DataFrame) -> list[dict[str, Any]]:
    """The busiest node of each type, then the second, and so on, up to MOST_NODES; by type and number."""
    busy = cores.group_by("node").agg(busy=pl.col("share").sum())
    ranked = nodes.join(busy, on="node", how="left", maintain_order="left").with_columns(
        busy=(pl.col("busy").fill_null(0.0) / pl.col("cores")).round(6)
    )
    ranked = ranked.sort("busy", descending=True, maintain_order=True)
    by_type = [list(part.iter_rows(named=True)) for part in ranked.partition_by("type", maintain_order=True)]
    turns = [node for turn in zip_longest(*by_type) for node in turn if node is not None][:MOST_NODES]
    fitting = [node for i, node in enumerate(turns) if i == 0 or _n_cores(turns[: i + 1]) <= _MOST_CORES]
    types = {name: i for i, name in enumerate(dict.fromkeys(nodes["type"]))}
    return sorted(fitting, key=lambda node: (types[node["type"]], node["node"]))


def _n_cores(nodes: Sequence[Mapping[str, Any]]) -> int:
    return sum(node["cores"] for node in nodes)


def _stands(nodes: Sequence[Mapping[str, Any]]) -> Iterator[_Stand]:
    left = 0.0
    for node in nodes:
        sharers = node["cores"] // node["processors"]
        for i in range(node["cores"]):
            left += _PROCESSOR_GAP if i and i % sharers == 0 else 0.0
            yield _Stand(node["first"] + i, node["name"], left)
            left += 1.0
        left += _NODE_GAP


def _looks(records: Records, runs: Sequence[Any], nodes: Sequence[int]) -> dict[str, str]:
    """The colours of the task types that the nodes run, from light, bound by the processor, to dark, by the memory."""
    cores = records.frame(CORES)
    order = by_memory(records.frame(RATES) if records.keeps(RATES) else cores)
    ramp = dict(zip(order, theme.ordered_lines(len(order)), strict=True))
    here = cores.filter(pl.col("run").is_in(runs) & pl.col("node").is_in(nodes))["task"].cast(pl.String)
    present = set(here)
    return {name: colour for name, colour in ramp.items() if name in present}


def by_memory(table: pl.DataFrame) -> list[str]:
    """The task types of a table by class, the heaviest last; classes of other names in their own order."""
    kinds = table.with_columns(pl.col("task", "class").cast(pl.String)).unique(
        "task", keep="first", maintain_order=True
    )
    classes = table["class"].dtype.categories.to_list() if isinstance(table["class"].dtype, pl.Enum) else []
    ranks = {name: i for i, name in enumerate([*classes, *_CLASSES])}
    return [row["task"] for row in sorted(kinds.iter_rows(named=True), key=lambda row: ranks.get(row["class"], 0))]


def _panel(records: Records, run: Mapping[str, Any], title: str, scene: _Stands) -> Any:
    import altair as alt

    mine = records.frame(CORES).filter(run=run["run"])
    rows = list(_pieces(mine, scene))
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.2, scene.width + 0.2], nice=False, zero=False), axis=None)
    axis = alt.Axis(values=[0, 25, 50, 75, 100])
    y = alt.Y("y:Q", title="time of the core (%)", scale=alt.Scale(domain=[0, 100], nice=False), axis=axis)
    colour = alt.Color(
        "task:N", sort=None, scale=alt.Scale(domain=list(scene.looks), range=list(scene.looks.values())),
        legend=alt.Legend(title="Task type", symbolType="square", columns=8),
    )  # fmt: skip
    frames = [{"x": s.left + _CORE_GAP / 2, "x2": s.left + 1 - _CORE_GAP / 2, "y": 0, "y2": 100} for s in scene.stands]
    frame = alt.Chart(inline(frames)).mark_rect(fill="white", stroke=theme.NOTHING, strokeWidth=0.8)
    bars = alt.Chart(inline(rows)).mark_rect(stroke="white", strokeWidth=0.6)
    named = {"node": "node", "core": "core", "task": "task type", "class": "memory class", "shown": "share",
            "pstate": "P-state"}  # fmt: skip
    tips = [alt.Tooltip(f"{name}:N", title=said) for name, said in named.items()]
    layers = [
        frame.encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q")),
        bars.encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), color=colour, tooltip=tips),
        *_words(rows, scene, x, y),
        *_node_names(scene, x),
    ]
    return layer(*layers, width=scene.core_px * scene.width, height=_HEIGHT_PX, title=title)


def _pieces(cores: pl.DataFrame, scene: _Stands) -> Iterator[dict[str, Any]]:
    """A rectangle for each task type of each core, those of the first classes below."""
    rank = {name: i for i, name in enumerate(scene.looks)}
    for stand in scene.stands:
        below = 0.0
        here = cores.filter(core=stand.core).iter_rows(named=True)
        for row in sorted(here, key=lambda row: rank.get(row["task"], 0)):
            above = below + 100 * row["share"]
            yield {
                "x": stand.left + _CORE_GAP / 2, "x2": stand.left + 1 - _CORE_GAP / 2, "y": below, "y2": above,
                "node": stand.node, "core": stand.core, "task": row["task"], "class": row["class"],
                "shown": f"{number(100 * row['share'])} %", "pstate": row["pstate"],
            }  # fmt: skip
            below = above


def _words(rows: Sequence[Mapping[str, Any]], scene: _Stands, x: Any, y: Any) -> list[Any]:
    """The names of task types in those bars that have room for them, dark on light and light on dark."""
    import altair as alt

    fitting = [
        {
            "x": (row["x"] + row["x2"]) / 2, "y": (row["y"] + row["y2"]) / 2, "task": row["task"],
            "ink": theme.ink_on(scene.looks[row["task"]]),
        }
        for row in rows
        if (row["y2"] - row["y"]) / 100 * _HEIGHT_PX > _CHARACTER_PX * len(row["task"]) + 4
    ]  # fmt: skip
    if not fitting or scene.core_px < _LEAST_PX:
        return []
    text = alt.Chart(inline(fitting)).mark_text(angle=270, fontSize=theme.LABEL_PX - 2, baseline="middle")
    return [text.encode(x=x, y=y, text=alt.Text("task:N"), color=alt.Color("ink:N", scale=None))]


def _node_names(scene: _Stands, x: Any) -> list[Any]:
    """Name and type of each node under its cores."""
    import altair as alt

    rows = []
    for node in scene.nodes:
        lefts = [stand.left for stand in scene.stands if stand.node == node["name"]]
        rows.append({"x": (lefts[0] + lefts[-1] + 1) / 2, "name": f"node {node['name']}", "type": node["type"]})
    base = alt.Chart(inline(rows)).encode(x=x, y=pixels(_HEIGHT_PX))
    return [
        base.mark_text(dy=12, fontSize=theme.LABEL_PX, color=theme.INK).encode(text=alt.Text("name:N")),
        base.mark_text(dy=27, fontSize=theme.LABEL_PX - 1, color=theme.MUTED).encode(text=alt.Text("type:N")),
    ]
