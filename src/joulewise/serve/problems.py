"""What goes wrong, told in words and with an id, on a page or as JSON; a traceback stays with us."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, Problem
from joulewise.serve.pages import Frame, filled

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from starlette.responses import Response
    from starlette.types import Scope

_LOG = logging.getLogger(__name__)

TITLES = {
    400: "This address is not ours", 401: "Not let in", 403: "Refused", 404: "Not there", 405: "Not possible here",
    413: "Too large", 422: "That cannot be asked", 503: "Too much to do",
}  # fmt: skip
_FAULT = "Something went wrong, and the fault is ours"


class TooLargeError(Exception):
    """What is sent to us is larger than may be sent."""


def fault(scope: Scope, error: Exception) -> Response:
    """A fault of ours: its id for people, and what happened, with that id, for the log."""
    number = _new_id()
    _LOG.error("%s: %s failed", number, scope["path"], exc_info=error)
    return refusal(scope, 500, "Nothing was changed. The log of the workbench has what happened.", number=number)


def _new_id() -> str:
    return uuid.uuid4().hex[:12]


def refusal(scope: Scope, status: int, *problems: str, number: str = "") -> Response:
    """Problems as a page, or as JSON below `/api`."""
    from starlette.responses import HTMLResponse, JSONResponse

    number = number or _new_id()
    title = TITLES.get(status, _FAULT if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Refused")
    if scope["path"].startswith("/api"):
        return JSONResponse({"problems": list(problems), "id": number}, status)
    words = {"title": title, "problems": problems, "status": status, "id": number}
    return HTMLResponse(filled("problem.html", frame=Frame(()), **words), status)


def handle_problems(app: FastAPI) -> None:
    """Have an application tell of everything that goes wrong in it."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    from joulewise.serve.bench import MissingError
    from joulewise.serve.desk import BusyError

    async def of_input(request: Request, error: Any) -> Response:
        return refusal(request.scope, 422, *_lines(error))

    async def of_form(request: Request, error: Any) -> Response:
        return refusal(request.scope, 422, *map(_form_line, error.errors()))

    async def of_missing(request: Request, error: Any) -> Response:
        return refusal(request.scope, 404, str(error))

    async def of_busy(request: Request, error: Any) -> Response:
        return refusal(request.scope, 503, str(error))

    async def of_size(request: Request, _error: Any) -> Response:
        return refusal(request.scope, 413, "What is sent is too large.")

    async def of_http(request: Request, error: Any) -> Response:
        words = "There is nothing at this address." if error.status_code == HTTPStatus.NOT_FOUND else str(error.detail)
        return refusal(request.scope, error.status_code, words)

    app.add_exception_handler(InputError, of_input)
    app.add_exception_handler(RequestValidationError, of_form)
    app.add_exception_handler(MissingError, of_missing)
    app.add_exception_handler(BusyError, of_busy)
    app.add_exception_handler(TooLargeError, of_size)
    app.add_exception_handler(HTTPException, of_http)


def _lines(error: InputError) -> Sequence[str]:
    return [str(problem) for problem in error.problems]


def _form_line(error: dict[str, Any]) -> str:
    """What is wrong with a name in an address, or with what is sent: where in it, and what."""
    place, *names = map(str, error["loc"])
    if place == "path":
        return f"{', '.join(names)}: such a name is not possible in an address of ours."
    return str(Problem(".".join((place, *names)), str(error["msg"])))
