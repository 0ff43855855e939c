"""The workbench: how soon it answers, what a move of a slider takes, and what many people at once do to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import numpy as np

from benchmarks.measure import Bar, Case, Subject
from joulewise.study import parse_study, run_study
from joulewise.study.bags.templates import PROFIT_TEMPLATE

_STUDY = 'name = "bag"\nseed = 0\ntrials = 1\n'
_N_CLIENTS, _PACE_S = 50, 1.0
"""So many people, each of whom moves a slider about so often."""
_MINUTE_S = 60.0
_ALLOWED_S = 30.0


@dataclass
class Server:
    """A workbench in a process of its own."""

    process: subprocess.Popen[str]
    host: str
    ready_s: float

    def memory_bytes(self) -> float:
        """What the server and its workers have in memory."""
        pids = [self.process.pid, *_children(self.process.pid)]
        return sum(_rss_bytes(pid) for pid in pids)


def _children(pid: int) -> list[int]:
    found = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if _parent(path) == pid
    ]  # fmt: skip
    return [each for child in found for each in (child, *_children(child))]


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def _rss_bytes(pid: int) -> float:
    try:
        return float(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0.0


@contextmanager
def _serving(folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "joulewise", "serve", str(folder), "--no-open", "--port", "0"]
    began_s = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    try:
        host = urlsplit(process.stdout.readline().split()[-1]).netloc
        with _line(host) as line:
            _get(line, "/")
        yield Server(process, host, time.perf_counter() - began_s)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _line(host: str) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection(host, timeout=_ALLOWED_S))


def _get(line: http.client.HTTPConnection, address: str) -> bytes:
    """What an address answers; RuntimeError where it is no answer."""
    line.request("GET", address)
    reply = line.getresponse()
    content = reply.read()
    if reply.status != 200:
        raise RuntimeError(f"{address}: {reply.status}")
    return content


def _study(case: Case, folder: Path) -> None:
    """A profit of 30 task types on 9 machine types."""
    text = (_STUDY + PROFIT_TEMPLATE).replace("n_tasks = 1000", f"n_tasks = {100 if case.smoke else 1000}")
    run_study(parse_study(text, "bag.toml", folder), folder / "bag", 1)


def start(case: Case) -> dict[str, float]:
    """From the command to the list of studies, at best of a few."""
    times = []
    for _ in range(1 if case.smoke else 5):
        with TemporaryDirectory() as folder, _serving(Path(folder)) as server:
            times.append(server.ready_s)
    return {"start_s": min(times)}


@dataclass
class _Client:
    """Somebody who moves sliders until the end."""

    host: str
    price: tuple[float, float]
    seed: int
    end_s: float
    pace_s: float
    times: list[float] = field(default_factory=list)
    n_errors: int = 0

    def move(self) -> None:
        draws = np.random.default_rng(self.seed)
        with _line(self.host) as line:
            time.sleep(float(draws.uniform(0, self.pace_s)))
            while (began_s := time.perf_counter()) < self.end_s:
                pue, price, n = draws.uniform(1, 2), draws.uniform(*self.price), draws.integers(1, 9)
                try:
                    _get(line, f"/api/studies/bag/profit?pue={pue:.5f}&price={price:.6g}&n-0={n}")
                except (OSError, RuntimeError, http.client.HTTPException):
                    self.n_errors += 1
                    line.close()
                took_s = time.perf_counter() - began_s
                self.times.append(took_s)
                time.sleep(max(self.pace_s * float(draws.uniform(0.5, 1.5)) - took_s, 0.0))


def _moved(server: Server, n: int, seconds: float, pace_s: float, seed: int) -> list[_Client]:
    """So many clients, after they moved sliders for so long."""
    price = _prices(server)
    end_s = time.perf_counter() + seconds
    clients = [_Client(server.host, price, seed * 1_000 + i, end_s, pace_s) for i in range(n)]
    threads = [threading.Thread(target=client.move) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients


def _prices(server: Server) -> tuple[float, float]:
    """The range of the slider of the price; what loads at the first answer is loaded then."""
    with _line(server.host) as line:
        found = json.loads(_get(line, "/api/studies/bag/profit"))
    (wish,) = (wish for wish in found["wishes"] if wish["key"] == "price")
    return 1.01 * wish["low"], 0.99 * wish["high"]


def what_if(case: Case) -> dict[str, float]:
    """One person who moves sliders as fast as answers come: the most profit of 30 x 9 types."""
    with TemporaryDirectory() as name:
        _study(case, Path(name))
        with _serving(Path(name)) as server:
            (client,) = _moved(server, 1, 2.0 if case.smoke else 20.0, 0.0, case.seed)
    assert not client.n_errors
    times_ms = 1e3 * np.array(client.times)
    return {"whatif.p50_ms": float(np.percentile(times_ms, 50)), "whatif.p95_ms": float(np.percentile(times_ms, 95))}


def load(case: Case) -> dict[str, float]:
    """Fifty people who move sliders for a minute: errors, how long answers take, and what memory does."""
    n, seconds = (5, 2.0) if case.smoke else (_N_CLIENTS, _MINUTE_S)
    with TemporaryDirectory() as name:
        _study(case, Path(name))
        with _serving(Path(name)) as server:
            _moved(server, n, seconds / 6, _PACE_S, case.seed + 1)
            before = server.memory_bytes()
            clients = _moved(server, n, seconds, _PACE_S, case.seed)
            after = server.memory_bytes()
    times_ms = 1e3 * np.concatenate([client.times for client in clients])
    return {
        "load.answers": float(times_ms.size),
        "load.errors": float(sum(client.n_errors for client in clients)),
        "load.p50_ms": float(np.percentile(times_ms, 50)),
        "load.p99_ms": float(np.percentile(times_ms, 99)),
        "load.memory_mb": after / 1e6,
        "load.memory_growth": after / before,
    }


SUBJECT = Subject(
    "workbench",
    {"start": start, "whatif": what_if, "load": load},
    (
        Bar("from the command to the first page, in s", "start_s", "at most", 2),
        Bar("a move of a slider, 30 x 9 types, 95th percentile in ms", "whatif.p95_ms", "at most", 50),
        Bar("answers that are none, of 50 clients in a minute", "load.errors", "at most", 0),
        Bar("an answer to one of 50 clients, 99th percentile in ms", "load.p99_ms", "at most", 500),
        Bar("memory after a minute over that before", "load.memory_growth", "at most", 1.1),
    ),
)
