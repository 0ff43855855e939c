"""Who gets in, and what a browser may do with our pages: hosts, origins, the token, limits of size, headers."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from joulewise.serve.asking import MOST_TEXT_BYTES
from joulewise.serve.problems import TooLargeError, fault, refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from joulewise.serve.bench import Settings

MOST_BYTES = 6 * MOST_TEXT_BYTES + 20_000
"""So large may what is sent to us be: a text, of which a form writes up to six bytes for one, and what is beside it."""
_LENGTH = re.compile(r"[0-9]{1,12}")
_PORT = re.compile(r":([0-9]{1,5})$")
_FOR_ALL = ("/static/workbench.css", "/static/icon.svg")
"""What is there without a token too, so that a refusal looks like our pages."""
_FOREIGN = ("cross-site", "same-site")
_PAGE = "document"
_SAFE = ("GET", "HEAD", "OPTIONS")
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._hosts = frozenset(host.casefold() for host in settings.hosts)
        self._token = settings.token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass; the headers of safety are on every answer, that to a fault of ours too."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False
        hardened = _hardened(send, scope)

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await hardened(message)

        try:
            await self._answer(scope)(scope, _limited(receive), watched)
        except Exception as error:
            told = fault(scope, error)
            if not has_begun:
                await told(scope, receive, hardened)

    def _answer(self, scope: Scope) -> ASGIApp:
        """What answers a request: the application, a refusal, or the way to the same page without the token."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        is_new = self._shows_token(scope)
        if why := self._refused(scope, headers, is_new=is_new):
            return refusal(scope, *why)
        if is_new and scope["method"] == "GET":
            return _without_token(scope, self._cookie(headers["host"]))
        return self._app

    def _refused(self, scope: Scope, headers: dict[str, str], *, is_new: bool) -> tuple[int, str] | None:
        """With which status a request is refused, and why; None where it may pass."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 400, f"This workbench is not called {host[:80]!r}; open it by the address that it printed."
        if _is_of_another_page(headers):
            return 403, "Pages from elsewhere may lead here, and ask nothing themselves."
        if scope["method"] not in _SAFE and not _is_same(headers, host):
            return 403, "What changes something must come from a page of this workbench, or have a header X-Joulewise."
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length) or int(length) > MOST_BYTES:
            return 413, f"What is sent may have {MOST_BYTES:,} bytes."
        if self._token and not (is_new or scope["path"] in _FOR_ALL or self._is_known(headers)):
            return 401, "This workbench asks for its token; open it by the address that it printed."
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a browser may call us by this name. A foreign name that leads here would make a foreign page ours."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").casefold()
        except ValueError:
            return False
        if name == "localhost" or name in self._hosts:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or bool(self._token)  # an address is no name that could lead elsewhere

    def _shows_token(self, scope: Scope) -> bool:
        """Whether the address has the token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return bool(self._token) and any(key == "token" and self._is_token(value) for key, value in query)

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self._token.encode())

    def _is_known(self, headers: dict[str, str]) -> bool:
        """Whether a browser brings its cookie, or a program the token itself."""
        kind, _, value = headers.get("authorization", "").partition(" ")
        return self._has_cookie(headers) or (kind.casefold() == "bearer" and self._is_token(value.strip()))

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        name = _cookie_name(headers["host"])
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(name)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._proof(name).encode())

    def _cookie(self, host: str) -> str:
        """What a browser brings until it is closed."""
        name = _cookie_name(host)
        return f"{name}={self._proof(name)}; Path=/; HttpOnly; SameSite=Strict"

    def _proof(self, name: str) -> str:
        """What only who has the token can make, and what does not tell it."""
        return hmac.new(self._token.encode(), name.encode(), hashlib.sha256).hexdigest()


def _cookie_name(host: str) -> str:
    """Another one for each port: browsers bring cookies to all ports of a machine."""
    port = _PORT.search(host)
    return f"joulewise-{port[1] if port else 80}"


def _is_of_another_page(headers: dict[str, str]) -> bool:
    """Whether a foreign page asks on its own, as by a picture or a frame; somebody may come here by a link in it."""
    is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", _PAGE) == _PAGE
    return headers.get("sec-fetch-site") in _FOREIGN and not is_visit


def _is_same(headers: dict[str, str], host: str) -> bool:
    """Whether a request comes from a page of ours: browsers tell where from, and no other page can say otherwise."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "same-origin") == "same-origin" and "x-joulewise" in headers
    try:
        return urlsplit(origin).netloc.casefold() == host.casefold()
    except ValueError:
        return False


def _without_token(scope: Scope, cookie: str) -> ASGIApp:
    """The way to the same page without the token in its address, where others could read it."""
    from starlette.responses import RedirectResponse

    query = [
        (k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True) if k != "token"
    ]
    path = "/" + scope["path"].lstrip("/")
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303, {"set-cookie": cookie})


def _limited(receive: Receive) -> Receive:
    """What is sent, refused as soon as it is too large."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise TooLargeError
        return message

    return limited


def _hardened(send: Send, scope: Scope) -> Send:
    """Send with the headers of safety."""

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_extra(scope, message["headers"])]
        await send(message)

    return hardened


def _extra(scope: Scope, headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    yield from _ALWAYS
    if not any(name == b"cache-control" for name, _ in headers):
        yield b"cache-control", b"no-cache" if scope["path"].startswith("/static/") else b"no-store"
