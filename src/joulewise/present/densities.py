"""How likely execution times and powers are: gamma densities of the least, the middle and the greatest variation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.present import theme
from joulewise.present.formats import number
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.plane import legend_of
from joulewise.present.records import Records

_TITLES = {"time_cov": "execution time", "power_cov": "power"}
_LEVELS = ("least", "median", "most")
_AT = np.linspace(0.005, 3.0, 600)
_LEAST_HEIGHT, _ROOM = 1.5, 1.08


def has_variations(records: Records) -> bool:
    """Whether the runs say how much times or powers vary, and some do."""
    return bool(_shown(records))


def densities(records: Records) -> Drawing:
    """Gamma densities with mean 1 at the least, the median and the greatest coefficient of variation."""
    parts = [_part(name, covs) for name, covs in _shown(records).items()]
    caption = (
        "How likely an execution time or a power is, in multiples of its mean, where it varies least, as in the middle "
        "and most of all (coefficient of variation: standard deviation over mean). Near 0.1 the density is almost that "
        "of a normal distribution, at 1 it is exponential; above, most values are small and few are very large. "
        "First run."
    )
    return Drawing(assemble(parts, across=2), caption)


def gamma_density(cov: float, at: Floats) -> Floats:
    """The density at positive values of the gamma distribution with mean 1 and this coefficient of variation."""
    shape = cov**-2
    return np.asarray(np.exp(shape * math.log(shape) + (shape - 1) * np.log(at) - shape * at - math.lgamma(shape)))


def _shown(records: Records) -> dict[str, list[float]]:
    """The variations of times and powers, rising, each told once; none where nothing varies."""
    found = {}
    for name in _TITLES:
        columns = [f"{name}:{level}" for level in _LEVELS]
        if records.measures(*columns):
            row = records.runs.select(columns).drop_nulls().row(0)
            found[name] = sorted({float(cov) for cov in row if cov > 0})
    return {name: covs for name, covs in found.items() if covs}


def _part(name: str, covs: list[float]) -> Any:
    import altair as alt

    curves = {cov: gamma_density(cov, _AT) for cov in covs}
    peaks = [float(curve.max()) for cov, curve in curves.items() if cov < 1]
    highest = _ROOM * max([_LEAST_HEIGHT, *peaks])
    rows = [
        {"x": float(x), "y": min(float(y), 2 * highest), "name": number(cov), "order": i}
        for cov, curve in curves.items()
        for i, (x, y) in enumerate(zip(_AT, curve, strict=True))
    ]
    names = [number(cov) for cov in covs]
    dashes = alt.Scale(domain=names, range=list(theme.LINE_DASHES[: len(names)]))
    colours = dict(zip(names, theme.LINE_PALETTE, strict=False))
    title = "Coefficient of variation"
    x_axis, y_axis = alt.Axis(format=AXIS_FORMAT, tickCount=6), alt.Axis(format=AXIS_FORMAT, tickCount=5)
    line = alt.Chart(inline(rows)).mark_line(strokeWidth=2, clip=True).encode(
        x=alt.X("x:Q", title=f"{_TITLES[name]} (× its mean)", scale=alt.Scale(domain=[0, 3]), axis=x_axis),
        y=alt.Y("y:Q", title="probability density", scale=alt.Scale(domain=[0, highest], nice=False), axis=y_axis),
        order="order:Q",
        color=legend_of(colours, title, symbolType="stroke"),
        strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=alt.Legend(title=title, symbolType="stroke"), sort=None),
    )  # fmt: skip
    return line.properties(width=360, height=240, title=_TITLES[name])
