"""Which versions of Slurm the bridge knows: those that it may act on, those that it may only read, and others."""

from __future__ import annotations

import re
from typing import NamedTuple

from joulewise.errors import InputError, Problem

_VERSION = re.compile(r"(?:^|[\s-])(\d{2})\.(\d{2})\.(\d{1,3})\b", re.ASCII)

RUN = ("22.05",)
"""A real Slurm of these versions is run by the tests."""
READ = ("20.11", "21.08", "23.02", "23.11", "24.05", "24.11", "25.05")
"""What these versions print is tested by samples that were made by their documented shapes."""


class Version(NamedTuple):
    """A version of Slurm: 22.05 is its release, and 8 counts what was mended in it."""

    release: str
    patch: int

    def __str__(self) -> str:
        return f"{self.release}.{self.patch}"

    @property
    def may_act(self) -> bool:
        """Whether the bridge may change anything on such a Slurm."""
        return self.release in RUN

    @property
    def problem(self) -> Problem | None:
        """Why the bridge only reads, and what to do; None where it may act."""
        if self.may_act:
            return None
        known = "only what it prints is tested" if self.release in READ else "it is not among those that are tested"
        return Problem(
            f"Slurm {self}",
            f"{known}, so nothing is changed on it",
            f"must be one of {', '.join(RUN)} to act",
            "watch the plan for a while, then allow this version in the policy file",
        )


def version_of(text: str) -> Version:
    """The version in what `scontrol --version` prints, such as "slurm-wlm 22.05.8"; InputError where there is none."""
    found = _VERSION.search(text[:200])
    if not found:
        raise InputError(
            Problem("scontrol --version", f"printed {text.strip()[:60]!r}", 'must be like "slurm 23.02.6"')
        )
    return Version(f"{found[1]}.{found[2]}", int(found[3]))
