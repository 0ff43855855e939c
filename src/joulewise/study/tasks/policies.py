"""The policies that people choose from, as lists show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from joulewise.study.kinds.system import Entry

if TYPE_CHECKING:
    from joulewise.policies.tasks.policy import Policy


def policies() -> list[Entry]:
    """Every policy of the table, and those of installed packages."""
    from joulewise.errors import InputError
    from joulewise.policies.tasks.heuristic import find_policy, installed_heuristics, installed_identity
    from joulewise.policies.tasks.table import POLICIES

    found, broken = dict(POLICIES), []
    for name in installed_heuristics():
        try:
            found[name] = replace(find_policy(name), name=name, source=installed_identity(name) or "")
        except InputError as error:
            row = {"name": name, "mode": "", "summary": str(error)}
            broken.append(Entry("policy", (name,), row, row))
    return _named_policies(found.values()) + broken


def _named_policies(policies: Iterable[Policy]) -> list[Entry]:
    return [
        Entry(
            "policy",
            (policy.name, policy.title),
            {"name": policy.name, "mode": policy.mode, "summary": policy.summary},
            {"name": policy.name, "title": policy.title, "mode": policy.mode, "summary": policy.summary,
             "source": policy.source, "use": f'manager.policy = "{policy.name}"'},
        )
        for policy in policies
    ]  # fmt: skip
