"""The look of the figures: palette, sizes and the Vega-Lite configuration shared by all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Okabe and Ito's palette, told apart under every common colour vision, then darker colours between them; yellow is
# last: it fades on white.
PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255", "#999933", "#6A4C9C",
    "#7A4A1E", "#808080", "#F0E442",
)  # fmt: skip
LINE_PALETTE = PALETTE[:-1]
LINE_DASHES = ([1, 0], [6, 3])
_FADE, _PALEST = 0.45, 0.75  # the part of white at each further turn through the colours, and at most
NOTHING = "#B4B8BE"
# Light to dark in even steps of lightness, so that ordered groups stay ordered in grey print.
_RAMP = ((0xA3, 0xCB, 0xEA), (0x3B, 0x8E, 0xC4), (0x05, 0x2B, 0x55))
# Several hues for thin marks: viridis without its yellow end, which fades on white.
_LINE_RAMP = ((0x7A, 0xD1, 0x51), (0x22, 0xA8, 0x84), (0x2A, 0x78, 0x8E), (0x41, 0x44, 0x87), (0x44, 0x01, 0x54))
# From cool to hot, light to dark all the way, so that hot stands out under every common colour vision and in grey.
_WARMTH = ((0xFB, 0xF0, 0xC4), (0xF6, 0xB9, 0x4D), (0xDD, 0x6B, 0x2F), (0x9C, 0x2A, 0x4A), (0x3B, 0x0F, 0x4E))

Looks = Mapping[str, tuple[str, list[int]]]
"""Colour and dash of a line by its label."""

INK = "#1B1F24"
MUTED = "#57606A"
GRID = "#E3E6EA"
_LIGHT = 0.5  # a colour this bright bears dark words
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
LABEL_PX = 12
TITLE_PX = 13

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 10,
    "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 300},
    "title": {
        "fontSize": TITLE_PX, "fontWeight": 600, "color": INK, "anchor": "start", "offset": 8,
        "subtitleColor": MUTED, "subtitleFontSize": LABEL_PX,
    },
    "axis": {
        "labelFontSize": LABEL_PX, "titleFontSize": TITLE_PX, "titleFontWeight": "normal", "labelColor": INK,
        "titleColor": INK, "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "tickSize": 4,
        "titlePadding": 10, "labelPadding": 5,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "orient": "top", "direction": "horizontal", "labelFontSize": LABEL_PX, "titleFontSize": LABEL_PX,
        "titleFontWeight": 600, "labelColor": INK, "titleColor": INK, "symbolSize": 120,
        "titleOrient": "left", "titlePadding": 10, "columnPadding": 14, "labelLimit": 220, "offset": 12,
        "layout": {"expr": "{top: {center: true, margin: 14}}"},
    },
    "header": {
        "labelFontSize": LABEL_PX, "labelFontWeight": 600, "labelColor": MUTED, "labelPadding": 6,
    },
    "facet": {"spacing": 14},
    "concat": {"spacing": 28},
}  # fmt: skip


def categorical(n: int) -> list[str]:
    """Colours for n unordered groups, lighter ones when the palette runs out."""
    return [_turned(PALETTE, i) for i in range(n)]


def ordered(n: int) -> list[str]:
    """Colours for n ordered groups, from light to dark."""
    return _steps(_RAMP, n)


def ordered_lines(n: int) -> list[str]:
    """Colours for n ordered lines, from light to dark."""
    return _steps(_LINE_RAMP, n)


def warmth(n: int) -> list[str]:
    """Colours for n temperatures, from light, the coolest, to dark."""
    return _steps(_WARMTH, n)


def lighter(colour: str, part: float) -> str:
    """The colour with this part of white mixed into it."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(channel + (255 - channel) * part):02X}" for channel in channels)


def ink_on(colour: str) -> str:
    """What words are written in on a colour: dark on light, white on dark."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > _LIGHT else "white"


def _steps(stops: Sequence[tuple[int, int, int]], n: int) -> list[str]:
    return [_between(stops, i / (n - 1)) for i in range(n)] if n > 1 else [PALETTE[0]] * n


def _between(stops: Sequence[tuple[int, int, int]], position: float) -> str:
    """The colour at a position from 0, the first stop, to 1, the last."""
    scaled = position * (len(stops) - 1)
    left = min(int(scaled), len(stops) - 2)
    mix = (round(a + (b - a) * (scaled - left)) for a, b in zip(stops[left], stops[left + 1], strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mix)


def line_style(i: int, family: int = 0) -> tuple[str, list[int]]:
    """Colour of the i-th line and the dash of its family; colours are lighter when the palette runs out."""
    return _turned(LINE_PALETTE, i), LINE_DASHES[family]


def _turned(palette: Sequence[str], i: int) -> str:
    """The i-th colour of a palette that starts again when it ends, each time with more white."""
    turn, colour = divmod(i, len(palette))
    return lighter(palette[colour], min(_FADE * turn, _PALEST))
