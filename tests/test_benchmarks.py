"""Every benchmark runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.first("compiles most kernels, while other tests run that need none")
def test_every_benchmark_runs_at_a_tiny_size() -> None:
    command = [sys.executable, "-m", "benchmarks", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
