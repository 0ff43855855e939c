"""What the command exits with, besides 0."""

from __future__ import annotations

OUR_FAULT, USERS_MISTAKE, SOME_RUNS_FAILED, INTERRUPTED = 1, 2, 3, 130
"""A fault of ours or a bar missed, wrong input, runs without result, Ctrl-C."""
