"""From an answer to a page: templates that escape everything, and scripts and styles in files of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joulewise._version import __version__
from joulewise.serve.answer import Answer, Link, to_json
from joulewise.serve.asking import Asked

HERE = Path(__file__).parent
STATIC = HERE / "static"
_TEMPLATES = HERE / "templates"


@dataclass(frozen=True)
class Frame:
    """What stands around an answer: the menu, the way here, the address of the twin, and whether moves are live.

    Keys of the query other than `first` are asked anew once one of these is changed, where there are any. `scripts` are
    files of `static` that the page needs beside those of every page.
    """

    menu: Sequence[Link]
    trail: Sequence[Link] = ()
    boards: Sequence[Link] = ()
    twin: str = ""
    is_live: bool = False
    first: Sequence[str] = ()
    scripts: Sequence[str] = ()
    template: str = "answer.html"


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["json"] = lambda value: json.dumps(to_json(value))
    made.filters["type_of"] = lambda value: type(value).__name__
    return made


def page_of(answer: Answer, asked: Asked, frame: Frame, **more: object) -> str:
    """An answer as a page."""
    return filled(frame.template, answer=answer, asked=asked, frame=frame, **more)


def filled(template: str, **values: object) -> str:
    """A template filled in; every value is escaped."""
    return str(_environment().get_template(template).render(version=__version__, **values))


def twin_of(answer: Answer, asked: Asked) -> dict[str, Any]:
    """An answer as JSON, with what was asked and what can be."""
    wishes = [_wish(wish, asked) for wish in asked.wishes]
    return {**to_json(answer), "asked": asked.texts, "wishes": wishes}


def _wish(wish: Any, asked: Asked) -> dict[str, Any]:
    told = {name: to_json(value) for name, value in vars(wish).items() if value is not None}
    return {**told, "form": wish.form, "value": to_json(asked[wish.key])}
