"""How pages are put at addresses: each with its twin below `/api`, with its menu, and files that browsers save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi import Path as InPath
from starlette.responses import HTMLResponse, JSONResponse, Response

from joulewise.serve import house
from joulewise.serve.answer import Answer, File, Link
from joulewise.serve.asking import Asked
from joulewise.serve.bench import Bench
from joulewise.serve.pages import Frame, page_of, twin_of
from joulewise.serve.subject import Subject

Name = Annotated[str, InPath(pattern=r"^[\w.-]+$", max_length=200)]
"""What stands in an address for a study, a page or a file."""

PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {
        "description": words,
        "content": {"application/json": {"schema": {
            "type": "object", "required": ["problems", "id"],
            "properties": {"problems": {"type": "array", "items": {"type": "string"}}, "id": {"type": "string"}},
        }}},
    }
    for code, words in ((404, "There is no such study or page."), (422, "What is asked cannot be answered."))
}  # fmt: skip
"""What goes wrong, in the description of the interface."""

_WISHES: dict[str, Any] = {
    "name": "wishes",
    "in": "query",
    "description": "What can be asked: the name of any wish that an answer lists under `wishes`, and a value for it.",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}
"""The query of a page in the description of the interface: which keys there are, only its content can tell."""


def add_pair(
    app: FastAPI, path: str, name: str, summary: str, page: Callable[..., Response], twin: Callable[..., Response]
) -> None:
    """A page, and its twin below `/api`, which the description of the interface has under this name."""
    api = f"/api{path}" if path != "/" else "/api/studies"
    app.add_api_route(path, page, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route(
        api, twin, summary=summary, operation_id=name, responses=PROBLEMS, response_class=JSONResponse,
        openapi_extra={"parameters": [_WISHES]},
    )  # fmt: skip


def as_page(answer: Answer, asked: Asked, frame: Frame) -> Response:
    """An answer as a page."""
    return HTMLResponse(page_of(answer, asked, frame))


def as_twin(answer: Answer, asked: Asked) -> Response:
    """An answer as JSON."""
    return JSONResponse(twin_of(answer, asked))


def frame_of_study(bench: Bench, subject: Subject, request: Request, here: str = "", *, is_live: bool = False) -> Frame:
    """What stands around a page of a study."""
    trail = (Link("Studies", "/"), Link(subject.title, subject.address))
    return Frame(menu_of(bench), trail, boards_of(subject, here), twin_address(request), is_live)


def menu_of(bench: Bench, here: str | None = None) -> list[Link]:
    """The menu that stands on each page."""
    return [Link(title, path_of(name), "here" if name == here else "") for name, title in bench.menu.items()]


def path_of(name: str) -> str:
    """Where the place of this name is."""
    return f"/{name}"


def boards_of(subject: Subject, here: str = "") -> Sequence[Link]:
    """The pages of a study; none where there is its overview alone."""
    boards = [Link(b.title, f"{subject.address}/{b.name}", b.name) for b in house.boards_of(subject)]
    links = [Link("Overview", subject.address), *boards] if boards else []
    return [Link(link.text, link.href, "here" if link.about == here else "") for link in links]


def twin_address(request: Request) -> str:
    """Where the twin of a page is."""
    path = request.url.path if request.url.path != "/" else "/studies"
    return f"/api{path}" + (f"?{request.url.query}" if request.url.query else "")


def download(file: File) -> Response:
    """A file that a browser saves and does not show."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
    return Response(file.content, media_type=file.media_type, headers=headers)
