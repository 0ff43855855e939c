"""A workbench over results of every kind of study, in this process: solves happen at once, without a process."""

from __future__ import annotations

import atexit
import pickle
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from joulewise.serve.app import create_app
from joulewise.serve.bench import Settings
from joulewise.serve.desk import Desk, _told
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
    """A folder with results of these names of `every_kind`, to be read only."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    for name in names:
        shutil.copytree(made(name).folder, folder / name)
    return folder


@cache
def served(*names: str) -> Client:
    """A workbench over them."""
    return client_of(shelved(*names))
