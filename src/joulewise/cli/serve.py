"""`joulewise serve`: the workbench in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.output import say

TOKEN = "JOULEWISE_TOKEN"
"""The variable that has the token: what a program is called with can be seen by every user of a machine."""


def serve(
    folder: Annotated[Path, typer.Argument(help="The folder with results and studies.")] = Path(),
    host: Annotated[
        str, typer.Option(help="Where to listen; an address that others reach needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any that is free.")] = 8765,
    token: Annotated[
        str,
        typer.Option(
            envvar=TOKEN, help=f"A secret of 16 characters or more that browsers must know; better given by {TOKEN}."
        ),
    ] = "",
    allows_code: Annotated[bool, typer.Option("--allow-code", help="Also run studies that name Python files.")] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Open the workbench in a browser.

    Look at studies, ask what-if, edit studies and run them. Only this machine reaches it, unless --host says otherwise.
    Ctrl-C ends it.
    """
    from joulewise.serve import server

    settings = server.checked(folder, host, token, allows_code=allows_code)
    made = server.listening(host, port)
    address = server.address_of(made, host, token)

    def ready() -> None:
        say(f"The workbench is at {address}")
        say("Others on the network can reach it with this token." if settings.hosts else "Ctrl-C ends it.")
        for warning in server.warnings_of(settings):
            say(warning)
        if not no_open:
            _open(address)

    server.serve(settings, made, ready)


def _open(address: str) -> None:
    """Open a browser, and do not wait for it."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
