"""How likely execution times and powers are: gamma densities at the ends of the ranges of their variation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.present import theme
from joulewise.present.formats import plain
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.plane import legend_of
from joulewise.present.records import Records

_RANGES = {"system.time_cov_range": "execution time", "system.power_cov_range": "power"}
_EXPONENTIAL = 1.0
_AT = np.linspace(0.005, 3.0, 600)
_LEAST_HEIGHT, _ROOM = 1.5, 1.08


def has_variations(records: Records) -> bool:
    """Whether times or powers vary as ranges say."""
    return bool(_shown(records))


def densities(records: Records) -> Drawing:
    """Gamma densities with mean 1 at the least and the greatest coefficient of variation, and of 1 between."""
    shown = _shown(records)
    covs = sorted({cov for drawn in shown.values() for cov in drawn})
    looks = {plain(cov): theme.line_style(i) for i, cov in enumerate(covs)}
    parts = [_part(_RANGES[name], drawn, looks) for name, drawn in shown.items()]
    caption = (
        "How likely an execution time or a power is, in multiples of its mean, at the ends of the range from which its "
        "coefficient of variation (standard deviation over mean) is drawn. Near 0.1 the density is almost that of a "
        "normal distribution, at 1 it is exponential; above, most values are small and few are very large."
    )
    return Drawing(assemble(parts, across=2), caption)


def gamma_density(cov: float, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """The density at positive values of the gamma distribution with mean 1 and this coefficient of variation."""
    shape = cov**-2
    return np.asarray(np.exp(shape * math.log(shape) + (shape - 1) * np.log(at) - shape * at - math.lgamma(shape)))


def _shown(records: Records) -> dict[str, list[float]]:
    """The variations that are drawn for times and powers, of the first range that a run has; none where none varies."""
    drawn = {}
    for key in _RANGES:
        texts = [text for text in records.values(key) if text is not None]
        ends = [float(end) for end in str(texts[0]).split(", ")] if texts else []
        between = [_EXPONENTIAL] if ends and ends[0] < _EXPONENTIAL < ends[-1] else []
        drawn[key] = sorted({cov for cov in (*ends, *between) if cov > 0})
    return {key: covs for key, covs in drawn.items() if covs}


def _part(name: str, covs: list[float], looks: theme.Looks) -> Any:
    import altair as alt

    curves = {cov: gamma_density(cov, _AT) for cov in covs}
    peaks = [float(curve.max()) for cov, curve in curves.items() if cov < _EXPONENTIAL]
    highest = _ROOM * max([_LEAST_HEIGHT, *peaks])
    rows = [
        {"x": float(x), "y": min(float(y), 2 * highest), "name": plain(cov), "order": i}
        for cov, curve in curves.items()
        for i, (x, y) in enumerate(zip(_AT, curve, strict=True))
    ]
    title = "Coefficient of variation"
    dashes = alt.Scale(domain=list(looks), range=[dash for _, dash in looks.values()])
    legend = alt.Legend(title=title, symbolType="stroke")
    x = alt.X("x:Q", title=f"{name} (1 = its mean)", scale=alt.Scale(domain=[0, _AT[-1]]), axis=_axis())
    y = alt.Y("y:Q", title="probability density", scale=alt.Scale(domain=[0, highest], nice=False), axis=_axis())
    line = alt.Chart(inline(rows)).mark_line(strokeWidth=2, clip=True).encode(
        x=x, y=y, order=alt.Order("order:Q"),
        color=legend_of({label: colour for label, (colour, _) in looks.items()}, title, symbolType="stroke"),
        strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=legend, sort=None),
    )  # fmt: skip
    return line.properties(width=360, height=240)


def _axis() -> Any:
    import altair as alt

    return alt.Axis(format=AXIS_FORMAT, tickCount=5, labelFlush=False)
