"""The addresses of studies and runs: what changes something is a POST, from a form of a page or as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, FastAPI, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from joulewise.errors import InputError, Problem
from joulewise.serve.answer import Answer, Link
from joulewise.serve.asking import LONGEST, MOST_TEXT_BYTES, Text, asked
from joulewise.serve.bench import Bench, MissingError
from joulewise.serve.pages import Frame, page_of, twin_of
from joulewise.serve.routes import PROBLEMS, add_pair, as_twin, menu_of, twin_address
from joulewise.serve.run import telling
from joulewise.serve.run.orders import OPEN, Order
from joulewise.serve.run.texts import StudyText

if TYPE_CHECKING:
    from joulewise.serve.run.editor import Checked

Found = TypeVar("Found")
Number = Annotated[int, InPath(ge=1, le=10**9)]
Action = Literal["cancel", "resume", "forget"]
"""What can be done with a run."""

_TOLD_EVERY_S = 0.3
_ALIVE_EVERY_S = 15.0
"""How often something is sent at least, so that who went away is noticed."""
_MOST_FIELDS = 10
"""So many values may a form send."""
_STUDY = (Text("study", "Study"),)
_TRAIL = (Link("Run", "/run"),)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StudyNamed(_Body):
    """A study of the folder."""

    study: str = Field(max_length=1000)


class StudyWritten(StudyNamed):
    """A study of the folder, and a text for it."""

    text: str


class StudySaved(StudyWritten):
    """A text for a study in place of the one with a mark."""

    mark: str = Field(max_length=100)


class Cursor(_Body):
    """A place in a text: behind so many characters of a line, the first of which is 1."""

    text: str
    line: int = Field(ge=1, le=MOST_TEXT_BYTES)
    column: int = Field(ge=0, le=MOST_TEXT_BYTES)


class StudyBegun(_Body):
    """A new study: its name, and what it starts from, such as "kind:managed"."""

    name: str = Field(max_length=1000)
    start: str = Field(max_length=1000)


async def _form(request: Request) -> dict[str, str]:
    """What a form of a page sends; lines end as they do in files."""
    body = (await request.body()).decode("utf-8", "replace")
    if body.count("&") >= _MOST_FIELDS:
        raise InputError(Problem("form", f"found {body.count('&') + 1:,} fields", f"may have {_MOST_FIELDS}"))
    told = parse_qsl(body, keep_blank_values=True)
    return {key: value.replace("\r\n", "\n") for key, value in told}


Named = Annotated[str, Query(max_length=LONGEST, description="The name of a study of the folder.")]
Sent = Annotated[dict[str, str], Depends(_form)]


def add(app: FastAPI, bench: Bench) -> None:
    """Put them there."""
    _add_new(app, bench)
    _add_editor(app, bench)
    _add_orders(app, bench)


def _add_new(app: FastAPI, bench: Bench) -> None:
    """A new study."""

    def answer() -> Answer:
        return telling.new_study(bench.texts.starts(), bench.texts.names())

    def shown(request: Request, status: int = 200, **more: object) -> Response:
        frame = Frame(menu_of(bench, "run"), _TRAIL, twin=twin_address(request), template="new.html")
        values = {"problems": (), "name": "", "start": "", **more}
        return HTMLResponse(page_of(answer(), asked((), ()), frame, **values), status)

    def page(request: Request, study: Named = "") -> Response:
        asked(_STUDY, request.query_params.multi_items())
        return shown(request, start=f"copy:{study}" if study else "")

    def twin(request: Request) -> Response:
        return as_twin(answer(), asked((), request.query_params.multi_items()))

    def made(request: Request, form: Sent) -> Response:
        name, start = form.get("name", ""), form.get("start", "")
        try:
            return _to(telling.edit_address(bench.texts.create(name, start).name))
        except InputError as error:
            return shown(request, 422, problems=error.problems, name=name, start=start)

    def begun(body: StudyBegun) -> Response:
        return JSONResponse(_text_told(bench.texts.create(body.name, body.start)), 201)

    add_pair(app, "/run/new", "new-study", "What a new study can start from.", page, twin)
    app.add_api_route("/run/new", made, methods=["POST"], include_in_schema=False)
    _add_post(app, "/api/run/studies", begun, "make-study", "Make a new study in the folder.", 201)


def _add_editor(app: FastAPI, bench: Bench) -> None:
    """A study's text, what is said of it, and what may stand in it."""

    def opened(request: Request, study: str) -> StudyText:
        asked(_STUDY, request.query_params.multi_items())
        return _there(lambda: bench.texts.read(study))

    def shown(study: StudyText, found: Checked, status: int = 200, **more: object) -> Response:
        twin = f"/api{telling.edit_address(study.name)}"
        frame = Frame(menu_of(bench, "run"), _TRAIL, twin=twin, scripts=("editor.js",), template="editor.html")
        told = [(message, telling.words_of(message)) for message in found.messages]
        values = {"study": study, "mark": study.mark, "found": found, "messages": told, "problems": (), **more}
        return HTMLResponse(page_of(telling.edited(study, found), asked((), ()), frame, **values), status)

    def page(request: Request, study: Named = "") -> Response:
        text = opened(request, study)
        return shown(text, bench.check(text))

    def twin(request: Request, study: Named = "") -> Response:
        text = opened(request, study)
        return as_twin(telling.edited(text, bench.check(text)), asked((), ()))

    def sent(form: Sent) -> Response:
        """Check, save or run what a form sends; where that is refused, nothing that was written is lost."""
        name = form.get("study", "")
        _there(lambda: bench.texts.path(name))
        study = bench.texts.written(name, form.get("text", ""))
        found, mark = bench.check(study), form.get("mark", "")
        try:
            if form.get("do") != "check":
                mark = bench.texts.save(study.name, study.text, mark).mark
            if form.get("do") == "run" and found.is_right:
                return _to(telling.order_address(bench.queue.order(study, found)))
        except InputError as error:
            return shown(study, found, 422, problems=error.problems, mark=mark)
        if form.get("do") == "save":
            return _to(telling.edit_address(study.name))
        return shown(study, found, 200 if form.get("do") == "check" else 422, mark=mark)

    def checked(body: StudyWritten) -> Response:
        _there(lambda: bench.texts.path(body.study))
        return JSONResponse(telling.checked_told(bench.check(bench.texts.written(body.study, body.text))))

    def completed(body: Cursor) -> Response:
        from joulewise.serve.run.completion import offers_at

        found = bench.desk.ask(offers_at, body.text, body.line, body.column)
        return JSONResponse({**vars(found), "offers": [vars(offer) for offer in found.offers]})

    def saved(body: StudySaved) -> Response:
        _there(lambda: bench.texts.path(body.study))
        return JSONResponse(_text_told(bench.texts.save(body.study, body.text, body.mark)))

    add_pair(app, "/run/edit", "edit-study", "A study's text, and what is said of it.", page, twin)
    app.add_api_route("/run/edit", sent, methods=["POST"], include_in_schema=False)
    _add_post(app, "/api/run/check", checked, "check-study", "What `joulewise check` says of a text, line by line.")
    _add_post(app, "/api/run/complete", completed, "complete-study", "What may stand at a place of a text.")
    _add_post(app, "/api/run/save", saved, "save-study", "Write a study's text, unless it is another one by now.")


def _add_orders(app: FastAPI, bench: Bench) -> None:
    """Runs, how far they are, and what can be done with them."""
    actions: dict[str, Callable[[int], object]] = {
        "cancel": lambda number: bench.queue.cancel(number),
        "resume": lambda number: bench.queue.resume(number),
        "forget": lambda number: bench.queue.forget(number),
    }

    def found(number: int) -> Order:
        return _there(lambda: bench.queue.orders.one(number))

    def answer(order: Order) -> Answer:
        return telling.one_run(order, bench.address_of_results(order.results))

    def page(number: Number, request: Request) -> Response:
        order = found(number)
        frame = Frame(
            menu_of(bench, "run"), _TRAIL, twin=twin_address(request), scripts=("run.js",), template="run.html"
        )
        values = {"order": order, "status": telling.status_of(order), "open": order.state in OPEN}
        return HTMLResponse(page_of(answer(order), asked((), request.query_params.multi_items()), frame, **values))

    def twin(number: Number, request: Request) -> Response:
        order, what = found(number), asked((), request.query_params.multi_items())
        return JSONResponse({**twin_of(answer(order), what), "run": telling.status_of(order)})

    def done(number: Number, action: Action) -> Response:
        found(number)
        actions[action](number)
        return _to("/run" if action == "forget" else f"/run/orders/{number}")

    def done_told(number: Number, action: Action) -> Response:
        found(number)
        actions[action](number)
        return JSONResponse({"number": number, "done": action})

    def ordered(body: StudyNamed) -> Response:
        study = _there(lambda: bench.texts.read(body.study))
        return JSONResponse(telling.status_of(bench.queue.order(study, bench.check(study))), 201)

    async def events(number: Number) -> Response:
        order = await run_in_threadpool(found, number)
        return StreamingResponse(_events(order), media_type="text/event-stream")

    add_pair(app, "/run/orders/{number}", "one-run", "How far a run is, and its log.", page, twin)
    app.add_api_route("/run/orders/{number}/{action}", done, methods=["POST"], include_in_schema=False)
    about = "Cancel a run, go on with one that ended before all was done, or take one that is over off the list."
    _add_post(app, "/api/run/orders/{number}/{action}", done_told, "change-run", about)
    _add_post(app, "/api/run/orders", ordered, "order-run", "Have a study of the folder run.", 201)
    app.add_api_route(
        "/api/run/orders/{number}/events",
        events,
        summary="How far a run is, whenever that changes, as server-sent events.",
        operation_id="run-events",
        response_class=StreamingResponse,
        responses={**PROBLEMS, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )


async def _events(order: Order) -> AsyncIterator[str]:
    """How far a run is, sent whenever that changes, until it is over."""
    before: dict[str, Any] | None = None
    silent_s = 0.0
    while before is None or (before["is_open"] and order.folder.exists()):
        now = await run_in_threadpool(telling.status_of, order)
        if now != before:
            before, silent_s = now, 0.0
            yield f"data: {json.dumps(now)}\n\n"
        elif silent_s >= _ALIVE_EVERY_S:
            silent_s = 0.0
            yield ": still there\n\n"
        await asyncio.sleep(_TOLD_EVERY_S)
        silent_s += _TOLD_EVERY_S


def _add_post(
    app: FastAPI, path: str, endpoint: Callable[..., Response], name: str, summary: str, status: int = 200
) -> None:
    """Something that is done by JSON, as the description of the interface has it."""
    app.add_api_route(
        path,
        endpoint,
        methods=["POST"],
        summary=summary,
        operation_id=name,
        responses=PROBLEMS,
        response_class=JSONResponse,
        status_code=status,
    )


def _there(look: Callable[[], Found]) -> Found:
    """What is looked up by a name; MissingError where there is none."""
    try:
        return look()
    except InputError as error:
        raise MissingError(str(error)) from None


def _text_told(study: StudyText) -> dict[str, str]:
    return {"study": study.name, "text": study.text, "mark": study.mark}


def _to(address: str) -> Response:
    """The way to the page that shows what was done."""
    return RedirectResponse(address, 303)
