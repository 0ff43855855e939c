"""`joulewise check-policy`: hold a policy of one's own against what holds of all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.codes import OUR_FAULT
from joulewise.cli.output import AsJson, print_json, print_table, working

if TYPE_CHECKING:
    from joulewise.errors import Problem
    from joulewise.study.kinds.conformance import PolicyCheck


def check_policy(
    policy: Annotated[
        str, typer.Argument(metavar="FILE:NAME", help="A file and the name of a policy in it.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Check a policy of your own on small worlds.

    It is run on worlds from one task to 400, with limits and failures too. A check that fails names the smallest
    world that shows it; so does one that has a word to say of what may be right.
    """
    with working(f"Checking {policy}", quiet=as_json):
        found = list(_checks(policy))
    n_failed = sum(not check.passed for check in found)
    if as_json:
        print_json({"policy": policy, "passed": not n_failed, "checks": [_facts(check) for check in found]})
    else:
        print_table(f"{policy}: {len(found) - n_failed} of {len(found)} checks passed", [_row(one) for one in found])
    if n_failed:
        raise typer.Exit(OUR_FAULT)


def _checks(spec: str) -> Iterable[PolicyCheck]:
    """The checks of the first system that has such a policy; InputError with what each system says where none has."""
    from joulewise.errors import InputError
    from joulewise.study.kinds.systems import all_systems

    problems: list[Problem] = []
    for system in all_systems():
        if system.check_policy is not None:
            try:
                return list(system.check_policy(spec, Path()))
            except InputError as error:
                problems += error.problems
    raise InputError(*dict.fromkeys(problems))


def _facts(check: PolicyCheck) -> dict[str, Any]:
    return {**vars(check), "passed": check.passed}


def _row(check: PolicyCheck) -> dict[str, Any]:
    told = check.problem or check.word
    verdict = "passes" if not told else "a word" if check.passed else "fails"
    shown_by = f"{check.shown_by}: {told}" if told else ""
    return {"check": check.check, "says": check.says, "verdict": verdict, "shown by": shown_by}
