"""The nodes of a Slurm now, as sinfo prints them: in which state each is, and how many of its processors are taken."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.slurm.queue import Asked

_COLUMNS = ("NodeList", "StateLong", "CPUsState")
_STATE = re.compile(r"([a-z_]+)([*~#!%$@^+-]*)")
_CORES = re.compile(r"(\d{1,9})/(\d{1,9})/(\d{1,9})/(\d{1,9})", re.ASCII)

OPEN = frozenset({"idle", "mixed", "allocated", "completing", "planned", "powered_down", "powering_up"})
"""States in which a node gets new jobs as soon as it has room; a node in any other gets none."""

CLOSING: Mapping[str, str] = {
    "*": "does not answer",
    "!": "is about to be switched off",
    "%": "is being switched off",
    "$": "is in maintenance",
    "@": "is about to start again",
    "^": "starts again",
}
"""Marks behind a state that keep new jobs away. One that is switched off (~) or on (#) gets jobs, and is waited for."""


class NodeNow(NamedTuple):
    """A node: its state as sinfo says it, and how many of its processors jobs have, and are there."""

    name: str
    state: str
    marks: str
    cores_taken: int
    cores: int

    @property
    def is_open(self) -> bool:
        """Whether it gets new jobs."""
        return self.state in OPEN and not set(self.marks) & CLOSING.keys()

    @property
    def is_off(self) -> bool:
        """Whether it is switched off, or just being switched on."""
        return self.state in ("powered_down", "powering_up") or bool(set(self.marks) & {"~", "#"})

    @property
    def why_closed(self) -> str:
        """Why it gets no new jobs, in words; "" if it does."""
        told = next((CLOSING[mark] for mark in self.marks if mark in CLOSING), "")
        return told or ("" if self.is_open else f"is {self.state}")


def ask_nodes() -> Asked:
    """Ask for the state of every node, whatever partitions it is in."""
    mark = f"#{secrets.token_hex(6)}#"
    columns = ",".join(f"{name}:{mark}" for name in _COLUMNS)
    return Asked(("sinfo", "--noheader", "--all", "--Node", f"--Format={columns}"), mark)


def nodes_of_text(text: str, mark: str) -> dict[str, NodeNow]:
    """The nodes in an answer of sinfo by their names, each once; InputError where it is none, or is cut off."""
    cells = text.split(mark)
    if len(cells) % len(_COLUMNS) != 1 or cells[-1].strip():
        raise InputError(
            Problem("sinfo", f"printed {len(cells) - 1:,} cells", f"must be {len(_COLUMNS)} for each node")
        )
    trios = zip(cells[::3], cells[1::3], cells[2::3], strict=False)  # what follows the last mark is no cell
    nodes = (_node(name.strip(), state.strip(), cores.strip()) for name, state, cores in trios)
    return {node.name: node for node in nodes}


def _node(name: str, state: str, cores: str) -> NodeNow:
    said, counted = _STATE.fullmatch(state), _CORES.fullmatch(cores)
    if not name or not said or not counted:
        found = f"printed {state[:40]!r} and {cores[:40]!r} of node {name[:40]!r}"
        raise InputError(Problem("sinfo", found, "must be like 'mixed' and '1/3/0/4'"))
    return NodeNow(name, said[1], said[2], int(counted[1]), int(counted[4]))
