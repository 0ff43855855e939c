"""`joulewise new`: write a commented study, or a plan of the laboratory, to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from joulewise.study.kinds.built_in import BUILT_IN

MEASURE = "measure"
_NEXT = {MEASURE: "measure {} --dry-run"}
_NOUN = {MEASURE: "plan"}
"""What to do with a new file that is no study, and what it is."""

_HEADING = """\
# A Joulewise study. Check it with `joulewise check {file}`, run it with `joulewise run {file}`.
# Durations, powers and energies are text with a unit ("10 min", "66 W", "1.11 GJ").
# A list where one value may stand is a sweep; several lists make every combination. So is {{ from = 1.0, to = 4.0 }},
# with `samples = 30` below. [tune] chooses swept values by trials of their own before others judge them.
# `joulewise explain KEY` tells more about any key, `joulewise list keys` names them all.

name = "{name}"               # also the name of the results folder
description = ""
seed = 0                     # the same seed gives the same results, on any number of processors
trials = 3                   # every combination is drawn this many times; or "until 0.5 %, at most 200"
keep = "first"               # detail tables of the first trial ("all", "none")
"""

_MEASURE = """\
# How programs that share a machine slow each other down, measured with kernels that come with Joulewise.
# Nothing has to be installed, set up or run as root; what the machine does not show is said to be missing.
#   joulewise measure {file} --dry-run    the schedule, and how long it takes (some minutes)
#   joulewise measure {file}              Ctrl-C keeps what was measured; the same command goes on
#   joulewise measure --probes                  what can be read here, and what would make more of it so
name = "{name}"
description = "Bundled kernels, from bound by memory to bound by the core, alone and in pairs."
repetitions = 5              # intervals need 2; from 5 on, runs that lie far from the others are left out
# seed = 0                   # the order of runs follows from it
# cores = "separate"         # a physical core for each; "siblings", "any", [0, 2], or [[0, 1], [2, 3]]
# ways = ["restart", "once"] # members that end early are started again; or are not

[[program]]
name = "triad"               # bound by how much memory can deliver
kernel = "triad"             # `footprint = "64 MB"` in place of a size that follows from the caches
seconds = "1.5 s"            # about how long a run takes alone

[[program]]
name = "chase"               # bound by how soon memory answers
kernel = "chase"
seconds = "1.5 s"

[[program]]
name = "stencil"             # as large as the last cache
kernel = "stencil"
seconds = "1.5 s"

[[program]]
name = "matmul"              # bound by the core
kernel = "matmul"
seconds = "1.5 s"

# Your own programs stand beside them, or in their place:
# [[program]]
# name = "solver"
# command = "./solver --input case.dat"
# folder = "runs"            # relative to this file
# warm_up = 1                # unmeasured runs before the first one
# time_limit = "10 min"      # a run that takes longer is ended, and does not count

[together]
pairs = "all"                # each runs alone too; "none", or [["triad", "chase"], ...]
# groups = [["triad", "triad", "chase", "matmul"]]  # larger ones, where the machine has the cores
# sampled = [{{ size = 4, n = 12 }}]                  # chosen so that every effect can be told

# [clock]                    # left out: as the machine is
# frequencies = "all"        # or ["1.6 GHz", "3.4 GHz"]; or governors = ["performance", "powersave"]

# [meter]                    # left out: RAPL, where it can be read
# command = "ipmitool dcmi power reading"   # any command that prints watts
# csv = "meter.csv"          # or the table of an external meter, laid over runs by the time of day

# [idle]
# most_busy = 0.1            # share of the cores that others may use before a run
# wait = "10 s"              # then it runs all the same, with a note
"""

_STUDIES = [kind for kinds in BUILT_IN.values() for kind in kinds]


def templates() -> dict[str, str]:
    """A study to start from of each kind that has one, and a plan of the laboratory."""
    from joulewise.study.kinds.systems import all_kinds

    studies = {name: _HEADING + kind.template for name, kind in all_kinds().items() if kind.template}
    return {**studies, MEASURE: _MEASURE}


def new(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The file to write; study.toml, or measure.toml.", show_default=False),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(help=f"The kind of study: {', '.join(_STUDIES)}; or {MEASURE}, a plan of the laboratory."),
    ] = "managed",
) -> None:
    """Write a commented study or plan to start from."""
    from joulewise.errors import InputError, Problem, unknown_name
    from joulewise.files import write_atomic
    from joulewise.study.kinds.systems import installed

    offered = templates()
    if kind not in offered:
        raise InputError(unknown_name("--kind", kind, offered), *installed().problems)
    path = path or Path("measure.toml" if kind == MEASURE else "study.toml")
    if path.exists():
        allowed = f"a new {_NOUN.get(kind, 'study')} overwrites nothing"
        raise InputError(Problem(str(path), "is there already", allowed, "choose another name"))
    write_atomic(path, offered[kind].format(file=path, name=_name(path.stem)))
    print(f"Wrote {path}. Next: joulewise {_NEXT.get(kind, 'check {}').format(path)}")


def _name(stem: str) -> str:
    """A valid study name close to the file's."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip("._-")[:100] or "study"
