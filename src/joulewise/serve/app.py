"""The application: every page and its JSON twin, from the boards and places that there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fastapi import FastAPI, Request
from starlette.responses import Response

from joulewise._version import __version__
from joulewise.serve import files, house, studies
from joulewise.serve.answer import Answer
from joulewise.serve.asking import Asked, asked
from joulewise.serve.bench import Bench, MissingError, Settings
from joulewise.serve.board import Board, Place
from joulewise.serve.desk import Desk
from joulewise.serve.guard import Guard
from joulewise.serve.pages import Frame
from joulewise.serve.play.place import PLACES as PLAY_PLACES
from joulewise.serve.problems import handle_problems
from joulewise.serve.routes import (
    Name,
    add_pair,
    as_page,
    as_twin,
    download,
    frame_of_study,
    menu_of,
    path_of,
    twin_address,
)
from joulewise.serve.run import routes, telling
from joulewise.serve.subject import Subject

PLACES: tuple[Place, ...] = (*studies.PLACES, *telling.PLACES, *PLAY_PLACES)
"""The pages of the whole workbench, in the order of the menu; the first is the one at `/`."""
PARTS: tuple[Callable[[FastAPI, Bench], None], ...] = (files.add, routes.add)
"""What adds routes of its own: each is given the application and the bench."""

_ABOUT = """What the pages of the workbench show, as JSON: each page has a twin below `/api` that takes the same keys.
Numbers that are missing are null. The keys of a page are its `wishes`, with what may be asked, as its twin tells them;
most follow from the study. What changes something is a POST with the header `X-Joulewise`, whatever it holds. Where the
workbench has a token, programs send `Authorization: Bearer TOKEN`."""


def create_app(settings: Settings, desk: Desk | None = None) -> FastAPI:
    """The workbench over a folder, as an application for any ASGI server; without a desk it gets one of its own."""
    menu = {place.name: place.title for place in PLACES if place.is_in_menu}
    bench = Bench(settings, menu, desk or Desk(settings.allows_code))
    app = FastAPI(
        title="Joulewise workbench",
        version=__version__,
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.bench = bench
    handle_problems(app)
    for place in PLACES:
        _add_place(app, bench, place)
    for add in PARTS:
        add(app, bench)
    _add_boards(app, bench)
    app.add_middleware(Guard, settings=settings)
    return app


def _asked_of(board: Board, subject: Subject, request: Request) -> Asked:
    """What a request asks of a board, wish by wish."""
    query = request.query_params.multi_items()
    first = board.wishes(subject)
    keys = {wish.key for wish in first}
    known = asked(first, [(key, text) for key, text in query if key in keys])
    return asked((*first, *board.further(subject, known)), query)


def _add_place(app: FastAPI, bench: Bench, place: Place) -> None:
    """A place and its twin."""

    def answered(request: Request) -> tuple[Answer, Asked]:
        what = asked(place.wishes(bench), request.query_params.multi_items())
        return place.answer(bench, what), what

    def page(request: Request) -> Response:
        frame = Frame(menu_of(bench, place.name), twin=twin_address(request), is_live=place.is_live)
        return as_page(*answered(request), frame)

    def twin(request: Request) -> Response:
        return as_twin(*answered(request))

    add_pair(app, path_of(place.name), place.name or "studies", place.summary, page, twin)


def _add_boards(app: FastAPI, bench: Bench) -> None:
    """Every board of every study, its twin and its files."""

    def found(study: str, board: str, request: Request) -> tuple[Subject, Board, Asked]:
        subject = bench.subject(study)
        wanted = house.board_of(subject, board)
        if wanted is None:
            raise MissingError(f"The study {subject.title!r} ({subject.status}) has no page {board!r}.")
        return subject, wanted, _asked_of(wanted, subject, request)

    def page(study: Name, board: Name, request: Request) -> Response:
        subject, wanted, what = found(study, board, request)
        first = [wish.key for wish in wanted.wishes(subject)]
        frame = replace(frame_of_study(bench, subject, request, board, is_live=wanted.is_live), first=first)
        return as_page(wanted.answer(subject, what), what, frame)

    def twin(study: Name, board: Name, request: Request) -> Response:
        subject, wanted, what = found(study, board, request)
        return as_twin(wanted.answer(subject, what), what)

    def file(study: Name, board: Name, name: Name, request: Request) -> Response:
        subject, wanted, what = found(study, board, request)
        if name not in wanted.files:
            raise MissingError(f"The page {board!r} has no file {name!r}.")
        return download(wanted.files[name](subject, what))

    add_pair(app, "/studies/{study}/{board}", "board", "What one page of a study says.", page, twin)
    app.add_api_route("/studies/{study}/{board}/{name}", file, include_in_schema=False)
