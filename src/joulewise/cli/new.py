"""`joulewise new`: write a commented study, a plan of the laboratory, or one of the examples, to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from joulewise.study.kinds.built_in import BUILT_IN

MEASURE = "measure"
"""The kind of what is no study: a plan of the laboratory, which is an example of that name."""

_HEADING = """\
# A Joulewise study. Check it with `joulewise check {file}`, run it with `joulewise run {file}`.
# Durations, powers and energies are text with a unit ("10 min", "66 W", "1.11 GJ").
# A list where one value may stand is a sweep; several lists make every combination. So is {{ from = 1.0, to = 4.0 }},
# with `samples = 30` below. [tune] chooses swept values by trials of their own before others judge them.
# `joulewise explain KEY` tells more about any key, `joulewise list keys` names them all.

name = "{name}"               # also the name of the results folder
description = ""
seed = 0                     # the same seed gives the same results, on any number of processors
trials = 3                   # every combination is drawn this many times; or "until 0.5 %, at most 210"
keep = "first"               # detail tables of the first trial ("all", "none")
"""

_USUAL = "managed"
_STUDIES = [kind for kinds in BUILT_IN.values() for kind in kinds]


class _New(NamedTuple):
    """The files to be written, the study or plan first, and which of both it is."""

    files: dict[Path, bytes]
    is_plan: bool


def templates() -> dict[str, str]:
    """A study to start from of each kind that has one."""
    from joulewise.study.kinds.systems import all_kinds

    return {name: _HEADING + kind.template for name, kind in all_kinds().items() if kind.template}


def new(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The file to write; study.toml, or the example's.", show_default=False),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help=f"The kind of study: {', '.join(_STUDIES)}; or {MEASURE}, a plan of the laboratory.",
            show_default=_USUAL,
        ),
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="One of `joulewise list examples`, with the files that it names."),
    ] = None,
) -> None:
    """Write a commented study, plan or example."""
    from joulewise.errors import InputError, Problem, raise_if_any
    from joulewise.files import write_atomic

    if kind and example:
        raise InputError(Problem("--example", "stands beside --kind", "an example has a kind", "give one of the two"))
    of_example = example or (MEASURE if kind == MEASURE else None)
    found = _example(of_example, path) if of_example else _template(kind or _USUAL, path)
    first = next(iter(found.files))
    noun = "plan" if found.is_plan else "study"
    raise_if_any(
        Problem(str(file), "is there already", f"a new {noun} overwrites nothing", "choose another name or folder")
        for file, data in found.files.items()
        if file.exists() and (file == first or not file.is_file() or file.read_bytes() != data)
    )
    for file, data in found.files.items():
        write_atomic(file, data)
    advice = f"measure {first} --dry-run" if found.is_plan else f"check {first}"
    print(f"Wrote {' and '.join(map(str, found.files))}. Next: joulewise {advice}")


def _example(name: str, path: Path | None) -> _New:
    """An example, which has the name of the file if one was given."""
    from joulewise.cli.examples import examples
    from joulewise.errors import InputError, unknown_name

    offered = examples()
    if name not in offered:
        raise InputError(unknown_name("--example", name, offered))
    example = offered[name]
    path = path or Path(example.path.name)
    text = example.written_to(path, _name(path.stem))
    named = {path.parent / other: data for other, data in example.named.items()}
    return _New({path: text.encode(), **named}, example.is_plan)


def _template(kind: str, path: Path | None) -> _New:
    """The template of a kind of study."""
    from joulewise.errors import InputError, unknown_name
    from joulewise.study.kinds.systems import installed

    offered = templates()
    if kind not in offered:
        raise InputError(unknown_name("--kind", kind, [*offered, MEASURE]), *installed().problems)
    path = path or Path("study.toml")
    return _New({path: offered[kind].format(file=path, name=_name(path.stem)).encode()}, is_plan=False)


def _name(stem: str) -> str:
    """A valid study name close to the file's."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip("._-")[:100] or "study"
