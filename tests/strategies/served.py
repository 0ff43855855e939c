"""A workbench over results of every kind of study, in this process: solves happen at once, without a process."""

from __future__ import annotations

import atexit
import json
import pickle
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import uvicorn

from joulewise.serve import server
from joulewise.serve.app import create_app
from joulewise.serve.bench import Settings
from joulewise.serve.desk import Desk, _told
from joulewise.study.store.store import MARKER
from tests.strategies.asgi import Client
from tests.strategies.every_kind import made


class HereDesk(Desk):
    """Answers in this process; questions and answers travel as they would."""

    def _by_worker(self, question: bytes) -> Any:
        is_found, answer = pickle.loads(_told(question, 1e9))
        if not is_found:
            raise answer
        return answer


def client_of(folder: Path, **settings: Any) -> Client:
    """A client of a workbench over a folder."""
    return Client(create_app(Settings(folder, **settings), HereDesk()))


@cache
def shelved(*names: str) -> Path:
    """A folder with results of these names of `every_kind`, beside the files of their studies, to be read only."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for name in names:
        shutil.copytree(made(name).folder, folder / name)
        shutil.copy(made(name).folder.parent / "log.swf", folder / name)
        say_studied_in(folder / name, folder / name)
    return folder


def say_studied_in(results: Path, folder: Path) -> None:
    """Have the marker of results say that the files of their study are in a folder."""
    marker = results / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "study_folder": str(folder)}))


@cache
def served(*names: str) -> Client:
    """A workbench over them."""
    return client_of(shelved(*names))


@contextmanager
def serving(folder: Path, desk: Desk | None = None) -> Iterator[str]:
    """A workbench on a socket of this machine; the start of its addresses."""
    made = server.listening("127.0.0.1", 0)
    app = create_app(Settings(folder), desk or HereDesk())
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [made]})
    thread.start()
    try:
        yield server.address_of(made, "127.0.0.1", "").rstrip("/")
    finally:
        running.should_exit = True
        running.force_exit = True
        thread.join()
        made.close()
        app.state.bench.close()
