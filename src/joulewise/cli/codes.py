"""What the command exits with, besides 0."""

from __future__ import annotations

OUR_FAULT, USERS_MISTAKE, SOME_RUNS_FAILED, NOT_ALL_CHECKED, INTERRUPTED = 1, 2, 3, 4, 130
"""A fault of ours or a bar missed, wrong input, runs without result, runs that could not be verified, Ctrl-C."""
