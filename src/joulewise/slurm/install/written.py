"""The files that an administrator installs, with what the site has filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.slurm.state import HEARTBEAT

LUA, RELEASE = "job_submit.lua", "release-held.sh"
FILES = (
    LUA, RELEASE, "joulewise.service", "joulewise-release.service", "joulewise-release.timer", "checklist.md",
)  # fmt: skip
"""All files, in the order of the check-list."""

_PATHS = ("folder", "program", "policy", "release", "commands")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,62}")
_PATH = re.compile(r"/[A-Za-z0-9_./-]{1,200}")


@dataclass(frozen=True)
class Installation:
    """What a site fills in: what is managed, who is protected, who may release, and where things lie.

    InputError for names and paths with other characters than such names have: they stand in scripts.
    """

    partitions: tuple[str, ...]
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    operators: tuple[int, ...] = (0,)
    folder: str = "/var/lib/joulewise"
    program: str = "/usr/local/bin/joulewise"
    policy: str = "/etc/joulewise/policy.toml"
    release: str = "/usr/local/sbin/release-held.sh"
    commands: str = "/usr/bin"
    user: str = "slurm"
    patience_s: int = 600
    grace_s: int = 60

    def __post_init__(self) -> None:
        raise_if_any(self._problems())

    @property
    def heartbeat(self) -> str:
        """The file in which the daemon says that it lives."""
        return f"{self.folder}/{HEARTBEAT}"

    def _problems(self) -> Iterable[Problem]:
        named = {"partitions": self.partitions, "users": self.users, "accounts": self.accounts, "qos": self.qos}
        for where, names in {**named, "user": (self.user,)}.items():
            wrong = [name for name in names if not _NAME.fullmatch(name)]
            yield from (Problem(where, f"found {name!r}", "must be a name of letters and digits") for name in wrong)
        for where in _PATHS:
            if not _PATH.fullmatch(getattr(self, where)):
                yield Problem(where, f"found {getattr(self, where)!r}", "must be a path from / without spaces")
        if not self.partitions:
            yield Problem("partitions", "found none", "must be one at least")
        if not all(number >= 0 for number in self.operators):
            yield Problem("operators", f"found {min(self.operators)}", "must be numbers of users")
        if self.patience_s < 60 or self.grace_s < 10:
            yield Problem("patience", "is too short", "must be 60 s at least, and the grace 10 s", "leave both out")

    def _filled_in(self) -> Mapping[str, str]:
        plain = {name: str(getattr(self, name)) for name in (*_PATHS, "user", "patience_s", "grace_s", "heartbeat")}
        tables = {name: _lua_set(getattr(self, name)) for name in ("partitions", "users", "accounts", "qos")}
        operators = ", ".join(f"[{number}] = true" for number in sorted({0, *self.operators}))
        return {**plain, **tables, "operators": operators, "partition_names": ", ".join(self.partitions)}


def _lua_set(names: Iterable[str]) -> str:
    """Names as the inside of a table of Lua; they have no quotes in them."""
    return ", ".join(f'["{name}"] = true' for name in names)


class _Template(Template):
    """Scripts have their own use for a dollar."""

    delimiter = "@"
    idpattern = r"(?!)"
    braceidpattern = r"[a-z_]+"


def written(name: str, installation: Installation) -> str:
    """The text of one of `FILES`."""
    if name not in FILES:
        raise InputError(Problem(name, "is no file that is installed", f"must be one of {', '.join(FILES)}"))
    text = files(__package__).joinpath(name).read_text("utf-8")
    values = dict(installation._filled_in())
    if name == LUA:
        values["heartbeat"] = f'"{values["heartbeat"]}"'
    return _Template(text).substitute(values)
