"""The workbench on a socket: by default only this machine reaches it."""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from joulewise.errors import InputError, Problem
from joulewise.serve.bench import Settings
from joulewise.serve.desk import MOST_WAITING

SHORTEST_TOKEN = 16
_TOKEN = re.compile(rf"[\w.~-]{{{SHORTEST_TOKEN},200}}", re.ASCII)
_NEEDED = "fastapi", "uvicorn"
_LOOPBACK = "localhost"
_PORT_TAKEN = "choose another one with --port, or any that is free with --port 0"
MOST_THREADS = 4 * MOST_WAITING
"""So many requests are answered at once: those that wait for the desk keep no others from their answer."""
_GRACE_S = 2
"""How long requests that are being answered may go on when the workbench is ended."""


def checked(folder: Path, host: str, token: str, *, allows_code: bool) -> Settings:
    """The settings of a workbench; InputError where it would be open to others, or has nothing to show."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        found, advice = f"found no {' and no '.join(missing)}", "install it: pip install 'joulewise[serve]'"
        raise InputError(Problem("joulewise serve", found, "needs the extra [serve]", advice))
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "there is no such folder"
        raise InputError(Problem(str(folder), found, "must be a folder with results of studies", "name another one"))
    if not is_loopback(host) and not token:
        advice = "give one with --token, or leave --host out"
        raise InputError(Problem("--host", f"found {host!r}, which others can reach", "needs a token", advice))
    if token and not _TOKEN.fullmatch(token):
        allowed = f"must have {SHORTEST_TOKEN} letters, digits, hyphens, points and underscores at least"
        advice = "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one"
        raise InputError(Problem("--token", f"found {len(token)} characters", allowed, advice))
    names = () if is_loopback(host) else (host, socket.gethostname(), socket.getfqdn())
    return Settings(folder, names, token, allows_code)


def warnings_of(settings: Settings) -> list[str]:
    """What somebody should know who starts a workbench so."""
    is_open = settings.allows_code and not settings.token
    return ["Every user of this machine can run code as you here; give --token to keep others out."] if is_open else []


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return host == _LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, port 0 being any that is free; InputError where that cannot be."""
    where = f"{host}:{port}"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as undo:
            # The protocol is named, else asyncio lets answers wait 40 ms for what else may be sent (Nagle).
            made = undo.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(128)
            undo.pop_all()
    except OSError as error:
        raise InputError(Problem(where, f"cannot listen: {error.strerror or error}", advice=_PORT_TAKEN)) from None
    return made


def address_of(made: socket.socket, host: str, token: str) -> str:
    """The address that opens the workbench in a browser."""
    name = socket.gethostname() if _is_any(host) else f"[{host}]" if ":" in host else host
    query = f"?token={quote(token, safe='')}" if token else ""
    return f"http://{name}:{made.getsockname()[1]}/{query}"


def _is_any(host: str) -> bool:
    """Whether this is every address that the machine has, and so none that somebody else can open."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def serve(settings: Settings, made: socket.socket, on_ready: Callable[[], object] = lambda: None) -> None:
    """Answer on a socket until the process is asked to end; `on_ready` is called when it answers."""
    import uvicorn
    from anyio import to_thread

    from joulewise.serve.app import create_app

    app = create_app(settings)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_GRACE_S, lifespan="off"
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server = uvicorn.Server(config)

    def ready() -> None:
        to_thread.current_default_thread_limiter().total_tokens = MOST_THREADS
        app.state.bench.open()
        on_ready()

    server.startup = _then(server.startup, ready)  # type: ignore[method-assign,assignment]
    try:
        server.run(sockets=[made])
    finally:
        app.state.bench.close()


def _then(start: Callable[..., Awaitable[None]], on_ready: Callable[[], object]) -> Callable[..., Awaitable[None]]:
    """Start, and tell when that is done."""

    async def started(*given: Any, **named: Any) -> None:
        await start(*given, **named)
        on_ready()

    return started
