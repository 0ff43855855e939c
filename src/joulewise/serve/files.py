"""A study's own page, and what can be downloaded of it: its tables, its file, its report and each of its figures.

The scripts and styles of all pages are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from joulewise.serve.answer import File
from joulewise.serve.asking import Asked, asked
from joulewise.serve.bench import Bench, MissingError
from joulewise.serve.pages import STATIC
from joulewise.serve.routes import Name, add_pair, as_page, as_twin, download, frame_of_study
from joulewise.serve.studies import show_study
from joulewise.serve.subject import Subject
from joulewise.serve.telling import PICTURES

VEGA = "vega.js"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PARQUET = "application/vnd.apache.parquet"


def add(app: FastAPI, bench: Bench) -> None:
    """Put them at their addresses."""

    def page(study: Name, request: Request) -> Response:
        subject, what = bench.subject(study), _nothing(request)
        return as_page(show_study(subject), what, frame_of_study(bench, subject, request))

    def twin(study: Name, request: Request) -> Response:
        what = _nothing(request)
        return as_twin(show_study(bench.subject(study)), what)

    def file(study: Name, name: Name) -> Response:
        return download(_file(bench.subject(study), name))

    def figure(study: Name, name: Name) -> Response:
        return download(_figure(bench.subject(study), name))

    def static(name: Name) -> Response:
        return _static(name)

    add_pair(app, "/studies/{study}", "study", "What the report of a study says.", page, twin)
    app.add_api_route("/studies/{study}/files/{name}", file, include_in_schema=False)
    app.add_api_route("/studies/{study}/figures/{name}", figure, include_in_schema=False)
    app.add_api_route("/static/{name}", static, include_in_schema=False)
    app.add_api_route("/api", lambda: RedirectResponse("/api/openapi.json"), include_in_schema=False)


def _nothing(request: Request) -> Asked:
    return asked((), request.query_params.multi_items())


def _static(name: str) -> Response:
    """One of our scripts and styles, or those that draw figures, in one file."""
    if name == VEGA:
        from joulewise.present.html import libraries

        return Response(libraries(), media_type=_TYPES[".js"], headers={"cache-control": "max-age=86400"})
    path = next((path for path in STATIC.iterdir() if path.name == name and path.suffix in _TYPES), None)
    if path is None:
        raise MissingError("There is no such file.")
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix])


# --- what can be downloaded ---------------------------------------------------------------------------------------


def _file(subject: Subject, name: str) -> File:
    if name not in _FILES:
        raise MissingError(f"There is no file {name!r}; there are {', '.join(_FILES)}.")
    made, kind = _FILES[name]
    ending = name.rpartition(".")[2]
    return File(f"{subject.name}.{ending}", kind, made(subject))


def _study_file(subject: Subject) -> bytes:
    return subject.study.source.encode()


def _parquet(subject: Subject) -> bytes:
    buffer = BytesIO()
    subject.results.runs.write_parquet(buffer)
    return buffer.getvalue()


def _csv(subject: Subject) -> bytes:
    import polars as pl
    import polars.selectors as cs

    lists = pl.format("[{}]", cs.list().list.eval(pl.element().cast(pl.String)).list.join(", "))
    runs = subject.results.runs
    has_lists = any(kind.is_nested() for kind in runs.schema.values())
    return (runs.with_columns(lists) if has_lists else runs).write_csv().encode()


def _report(subject: Subject) -> bytes:
    return subject.draft.html().encode()


_FILES: Mapping[str, tuple[Callable[[Subject], bytes], str]] = {
    "study.toml": (_study_file, "application/toml"),
    "runs.parquet": (_parquet, _PARQUET),
    "runs.csv": (_csv, "text/csv"),
    "report.html": (_report, "text/html"),
}
"""What a study has to download, how it is made, and its type."""


def _figure(subject: Subject, name: str) -> File:
    """A figure of the report as a picture: its name, and in which format."""
    stem, _, kind = name.rpartition(".")
    plate = next((plate for plate in subject.draft.plates if plate.name == stem), None) if kind in PICTURES else None
    if plate is None:
        raise MissingError(f"There is no figure {name!r}; figures end in {' or '.join(PICTURES)}.")
    from joulewise.present.export import render

    drawn = render(plate.spec, kind)
    return File(f"{subject.name}-{name}", PICTURES[kind], drawn if isinstance(drawn, bytes) else drawn.encode())
