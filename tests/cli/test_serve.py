"""`joulewise serve` starts, says where it is, and ends."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from joulewise.errors import InputError
from joulewise.serve import server
from tests.strategies.calling import COMMAND, call


def test_it_starts_and_ends_and_loads_no_kernels(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPROFILEIMPORTTIME": "1"}
    command = [*COMMAND, "serve", str(tmp_path), "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    place = urlsplit(process.stdout.readline().split()[-1])
    assert process.stdout.readline() == "Ctrl-C ends it.\n"
    line = http.client.HTTPConnection(place.netloc, timeout=60)
    line.request("GET", "/")
    assert line.getresponse().status == 200
    line.close()
    process.send_signal(signal.SIGINT)
    _, imported = process.communicate(timeout=60)
    assert "Traceback" not in imported
    assert not {"numba", "altair", "scipy"} & {row.rpartition("|")[2].strip() for row in imported.splitlines()}


@pytest.mark.parametrize(("options", "said"), [(["--host", "0.0.0.0"], "needs a token"), (["--token", "short"], "16")])
def test_what_would_be_unsafe_is_refused(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = call(capsys, "serve", tmp_path, "--no-open", *options)
    assert told.code == 2
    assert said in told.err


def test_a_port_that_is_taken_is_told() -> None:
    first = server.listening("127.0.0.1", 0)
    with first, pytest.raises(InputError, match="--port 0"):
        server.listening("127.0.0.1", first.getsockname()[1])


def test_addresses_are_those_that_browsers_know() -> None:
    with server.listening("127.0.0.1", 0) as made:
        port = made.getsockname()[1]
        assert server.address_of(made, "::1", "a/b") == f"http://[::1]:{port}/?token=a%2Fb"
