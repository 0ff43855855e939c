"""What a page of the workbench is made from: a board of one study, or a place that needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from joulewise.serve.answer import Answer, File
from joulewise.serve.asking import Asked, Wish

if TYPE_CHECKING:
    from joulewise.serve.bench import Bench
    from joulewise.serve.subject import Subject


def _no_wishes(_: object) -> Sequence[Wish]:
    return ()


def _nothing_further(_: object, _asked: object) -> Sequence[Wish]:
    return ()


@dataclass(frozen=True)
class Board:
    """A page of one study, at `/studies/STUDY/NAME`, and its twin below `/api`.

    `fits` tells whether a study has it; it is asked often and should look at the kind and the columns alone. `wishes`
    are what it can be asked of a study, `further` what else once those are known. Of a board that `is_live` the page
    asks anew whenever a slider moves; without scripts it is a form. `files` are downloads by their names, at the same
    address followed by `/NAME`.
    """

    name: str
    title: str
    summary: str
    fits: Callable[[Subject], bool]
    answer: Callable[[Subject, Asked], Answer]
    wishes: Callable[[Subject], Sequence[Wish]] = _no_wishes
    further: Callable[[Subject, Asked], Sequence[Wish]] = _nothing_further
    is_live: bool = False
    files: Mapping[str, Callable[[Subject, Asked], File]] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A page of the whole workbench, at `/NAME`, and its twin below `/api`; one that `is_in_menu` stands in each page's
    menu. Otherwise as a board."""

    name: str
    title: str
    summary: str
    answer: Callable[[Bench, Asked], Answer]
    wishes: Callable[[Bench], Sequence[Wish]] = _no_wishes
    is_live: bool = False
    is_in_menu: bool = True
