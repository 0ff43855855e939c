"""`joulewise slurm`: what a policy would do on a live Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.output import AsJson, note, print_json, print_table, say, working

if TYPE_CHECKING:
    from joulewise.slurm.plan import Plan

_DOES = ("plan",)
_MOST_ROWS = 50


def slurm(
    what: Annotated[str, typer.Argument(metavar="DO", help="plan: print what would be done; nothing is changed.")],
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.", show_default=False)],
    used: Annotated[
        str, typer.Option(help="Energy that jobs that are over have used of the budget's day, such as '12 MJ'.")
    ] = "0 J",
    as_json: AsJson = False,
) -> None:
    """Plan a live Slurm by a policy file.

    Its queue and nodes are read, and it is told which held jobs would be released where, and why others wait. Nothing
    is changed on it.
    """
    from joulewise.errors import InputError, raise_if_any, unknown_name
    from joulewise.slurm.calls import Commands, Patience, SlurmError
    from joulewise.slurm.plan import plan_of
    from joulewise.slurm.policy import read_policy
    from joulewise.slurm.snapshot import snapshot_of

    raise_if_any([unknown_name("slurm", what, _DOES)] if what not in _DOES else [])
    used_j, read = _joules(used), read_policy(policy)
    try:
        with working("Asking Slurm", quiet=as_json):
            plan = plan_of(snapshot_of(Commands(), Patience(read.managed.patience_s)), read, used_j)
    except SlurmError as error:
        raise InputError(error.problem) from None
    print_json(as_plain(plan)) if as_json else _show(plan)


def _joules(text: str) -> float:
    from joulewise.errors import InputError, Problem
    from joulewise.units import joules

    try:
        used_j = joules(text)
    except ValueError:
        used_j = -1.0
    if not used_j >= 0:
        raise InputError(Problem("--used", f"found {text!r}", 'must be an energy, for example "12 MJ"'))
    return used_j


def as_plain(plan: Plan) -> dict[str, Any]:
    """A plan as JSON has it."""
    rows = {name: [row._asdict() for row in getattr(plan, name)] for name in _TABLES}
    return {**plan._asdict(), **rows, "totals": plan.totals._asdict()}


_TABLES = ("releases", "waiting", "protected", "left")


def _show(plan: Plan) -> None:
    """A plan for people."""
    from joulewise.units import count
    from joulewise.worlds.clock import told

    say(f"{told(plan.at_s, is_local=False)}, policy {plan.policy}: nothing is changed.")
    rows = (
        ("would be released", _releases(plan), ("worth", "power", "energy")),
        ("would wait", _waiting(plan), ("worth",)),
        ("would be released at once, as protected", [_of(row) for row in plan.protected], ()),
        ("would be left to Slurm", [{**_of(row), "why": row.why} for row in plan.left], ()),
        ("with comments that do not count", [{"job": job, "why": why} for job, why in plan.refused.items()], ()),
    )
    for title, found, numbers in rows:
        if found:
            print_table(f"{count(len(found), 'job')} {title}", found[:_MOST_ROWS], numbers=numbers)
        if len(found) > _MOST_ROWS:
            say(f"and {len(found) - _MOST_ROWS:,} more, which --json has.")
    totals = [{"": name, "now": value} for name, value in _totals(plan)]
    if totals:
        print_table("", totals, numbers=("now",), header=False)
    for why, n in plan.aside.items():
        say(f"Not decided about: {count(n, 'job')} {why}.")
    for line in plan.notes:
        note(line)


def _of(row: Any) -> dict[str, Any]:
    return {"job": row.job, "user": row.user}


def _releases(plan: Plan) -> list[dict[str, Any]]:
    from joulewise.units import energy, power
    from joulewise.worlds.clock import told

    return [
        {**_of(row), "partition": row.partition, "nodes": row.on, "worth": f"{row.worth:.3g}",
         "power": None if row.power_w is None else power(row.power_w),
         "energy": None if row.energy_j is None else energy(row.energy_j),
         "ends by": told(row.ends_at_s, is_local=False)}
        for row in plan.releases
    ]  # fmt: skip


def _waiting(plan: Plan) -> list[dict[str, Any]]:
    from joulewise.worlds.clock import told

    return [
        {**_of(row), "partition": row.partition, "worth": f"{row.worth:.3g}", "why": row.why,
         "planned for": None if row.starts_at_s is None else told(row.starts_at_s, is_local=False)}
        for row in plan.waiting
    ]  # fmt: skip


def _totals(plan: Plan) -> list[tuple[str, str]]:
    """What is drawn and left, as far as it is known."""
    from joulewise.units import energy, power

    totals = plan.totals
    rows = (
        ("power now", totals.power_w, power),
        ("power after the releases", totals.power_after_w, power),
        ("power cap", totals.cap_w, power),
        ("budget of the day", totals.budget_j, energy),
        ("left of it", totals.budget_left_j, energy),
    )
    return [(name, show(value)) for name, value, show in rows if value is not None]
