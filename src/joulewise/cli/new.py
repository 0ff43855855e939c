"""`joulewise new`: write a commented study, a plan of the laboratory, or one of the examples, to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.parsing.templates import study_name, templates

MEASURE = "measure"
"""The kind of what is no study: a plan of the laboratory, which is an example of that name."""

_USUAL = "managed"
_STUDIES = [kind for kinds in BUILT_IN.values() for kind in kinds]


class _New(NamedTuple):
    """The files to be written, the study or plan first, and which of both it is."""

    files: dict[Path, bytes]
    is_plan: bool


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
    from joulewise.errors import InputError, unknown_name
    from joulewise.study.parsing.examples import examples

    offered = examples()
    if name not in offered:
        raise InputError(unknown_name("--example", name, offered))
    example = offered[name]
    path = path or Path(example.path.name)
    text = example.written_to(path, study_name(path.stem))
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
    return _New({path: offered[kind].format(file=path, name=study_name(path.stem)).encode()}, is_plan=False)
