"""A client of an application in this process: what a browser would send and get, without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

HOST = "localhost:8000"


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Client:
    """Calls an application; `headers` are sent with every request."""

    app: Any
    headers: dict[str, str] = field(default_factory=lambda: {"host": HOST})

    def get(self, address: str, **headers: str) -> Reply:
        return self.send("GET", address, b"", headers)

    def post(self, address: str, body: bytes | str | object = b"", **headers: str) -> Reply:
        """Send a body, JSON unless it is text, as a page of the workbench would."""
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        return self.send("POST", address, data, {"origin": f"http://{HOST}", **headers})

    def send(self, method: str, address: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self._sent(method, urlsplit(address), body, {**self.headers, **named}))

    async def _sent(self, method: str, parts: Any, body: bytes, headers: Mapping[str, str]) -> Reply:
        length = {"content-length": str(len(body))} if body and "content-length" not in headers else {}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(parts.path), "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in {**headers, **length}.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = next(message for message in sent if message["type"] == "http.response.start")
        told = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
        content = b"".join(message.get("body", b"") for message in sent)
        return Reply(start["status"], told, content)
