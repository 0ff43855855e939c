"""Studies to start from: a commented text of each kind of study."""

from __future__ import annotations

import re

_HEADING = """\
# A Joulewise study. Check it with `joulewise check {file}`, run it with `joulewise run {file}`.
# Durations, powers and energies are text with a unit ("10 min", "66 W", "1.11 GJ").
# A list where one value may stand is a sweep; several lists make every combination. So is {{ from = 1.0, to = 4.0 }},
# with `samples = 30` below. [tune] chooses swept values by trials of their own before others judge them.
# `joulewise explain KEY` tells more about any key, `joulewise list keys` names them all.

name = "{name}"               # also the name of the results folder
description = ""
seed = 0                     # the same seed gives the same results, on any number of processors
trials = 3                   # every combination is drawn this many times; or "until 0.5 %, at most 210"
keep = "first"               # detail tables of the first trial ("all", "none")
"""


def templates() -> dict[str, str]:
    """A study to start from of each kind that has one, with places for its `file` and its `name`."""
    from joulewise.study.kinds.systems import all_kinds

    return {name: _HEADING + kind.template for name, kind in all_kinds().items() if kind.template}


def study_name(stem: str) -> str:
    """A valid name of a study close to that of its file."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip("._-")[:100] or "study"
