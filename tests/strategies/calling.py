"""The command line called as a user calls it, in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from joulewise.cli import main

COMMAND = (sys.executable, "-m", "joulewise")


@dataclass(frozen=True)
class Said:
    """What a call printed, and its exit code."""

    code: int
    out: str
    err: str


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Said:
    """Call the command in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    code = caught.value.code
    return Said(code if isinstance(code, int) else 0, printed.out, printed.err)


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start the command in a folder and in a process group of its own."""
    command = [*COMMAND, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, text=True, stdout=pipe, stderr=pipe, start_new_session=True)
