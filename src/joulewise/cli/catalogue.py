"""Everything that `list` lists and `explain` explains, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joulewise.policies.jobs.policy import JobPolicy
    from joulewise.policies.tasks.policy import Policy


@dataclass(frozen=True)
class Entry:
    """One thing with a name: how people may call it, its row in a list, and all there is to say of it."""

    kind: str
    names: tuple[str, ...]
    row: dict[str, Any]
    facts: dict[str, Any]


def _policies() -> list[Entry]:
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


def _job_policies() -> list[Entry]:
    from joulewise.policies.jobs.table import JOB_POLICIES

    return [
        Entry(
            "job policy",
            (policy.name, policy.title),
            {"name": policy.name, "rule": policy.rule, "summary": policy.summary},
            {"name": policy.name, "title": policy.title, "rule": policy.rule, "summary": policy.summary,
             "nodes held ahead": _held(policy), "source": policy.source, "use": f'scheduler.policy = "{policy.name}"'},
        )
        for policy in JOB_POLICIES.values()
    ]  # fmt: skip


def _held(policy: JobPolicy) -> str:
    """For whom a policy holds nodes ahead, and until when."""
    from joulewise.policies.jobs.policy import ALL_JOBS

    if policy.reservations == 0:
        return "for nobody"
    whom = "every job" if policy.reservations == ALL_JOBS else f"{policy.reservations} of the jobs"
    until = {"reservations": "it starts", "place-holders": "the next mapping event"}[policy.commitment]
    return f"for {whom} that cannot start at once, until {until}"


def _generators() -> list[Entry]:
    from joulewise.study.schema import study_keys
    from joulewise.study.sources import SECTIONS

    keys = study_keys()
    return [
        Entry(
            "generator",
            (name,),
            {"section": section.name, "name": name, "summary": section.sources[name].summary},
            {
                "section": section.name,
                "name": name,
                "summary": section.sources[name].summary,
                "keys": ", ".join(k.path.partition(".")[2] for k in keys if k.source == name),
                "use": f'{section.name}.generator = "{name}"',
            },
        )
        for section in SECTIONS.values()
        if section.selector == "generator"
        for name in section.choices
    ]


def _methods() -> list[Entry]:
    from joulewise.study.assignments import methods as utility_methods
    from joulewise.study.bags import front as fronts
    from joulewise.study.column import FRONT, UTILITY
    from joulewise.study.facility import methods as facility_methods
    from joulewise.study.facility.sources import REWARD

    tables = {FRONT: fronts.METHODS, UTILITY: utility_methods.METHODS, REWARD: facility_methods.METHODS}

    return [
        Entry(
            "method",
            (name, method.title),
            {"goal": goal, "name": name, "summary": method.summary},
            {"goal": goal, "name": name, "title": method.title, "summary": method.summary, "source": method.source,
             "keys": ", ".join(method.keys), "use": f'optimise.method = "{name}"'},
        )
        for goal, methods in tables.items()
        for name, method in methods.items()
    ]  # fmt: skip


_VALUES = {
    'optimise.objective = "{}"': {
        "mean-times": "energy and utility if everything takes its mean time and power; it has a proven bound",
        "mean-completions": "mean energy, and utility at the mean completion of each task over the samples",
        "expected": "mean energy and mean utility over the samples",
        "percentile": "the utility that percentile_utility percent of the samples earn at least, and the energy that "
        "percentile_energy percent of them use at most",
    },
    'optimise.seeds = ["{}"]': {
        "min-energy": "in order of arrival, every task where it uses the least energy",
        "max-utility": "in order of arrival, every task where it earns most",
        "max-utility-per-energy": "in order of arrival, every task where it earns most per joule",
        "min-min": "again and again the task that can complete first, where it does",
        "all": "the four heuristics, and what max-max-util, max-max-upt, max-max-upp and max-max-upe do in simulation",
    },
}
"""Values with a meaning of their own that no other table tells, by how a study has them."""


def _values() -> list[Entry]:
    return [
        Entry(
            "value of a study key",
            (value,),
            {"key": use.split()[0], "value": value, "meaning": meaning},
            {"key": use.split()[0], "meaning": meaning, "use": use.format(value)},
        )
        for use, values in _VALUES.items()
        for value, meaning in values.items()
    ]


def _kinds() -> list[Entry]:
    from joulewise.study.column import RUNS
    from joulewise.study.columns import COLUMNS
    from joulewise.study.kinds import KINDS as STUDY_KINDS

    tables = {
        name: dict.fromkeys(column.table for column in COLUMNS if column.table != RUNS and column.is_of(name))
        for name in STUDY_KINDS
    }
    return [
        Entry(
            "kind of study",
            (name,),
            {"name": name, "summary": kind.summary},
            {"name": name, "summary": kind.summary, "section": f"[{kind.section}]",
             "workloads": ", ".join(kind.workloads), "tables": ", ".join(tables[name]),
             "use": f"joulewise new --kind {name}"},
        )
        for name, kind in STUDY_KINDS.items()
    ] + [_measure()]  # fmt: skip


def _measure() -> Entry:
    """Plans of the laboratory, which people choose beside the kinds of studies."""
    from joulewise.measure.plan.table import TABLES, title_of

    row = {"name": "measure", "summary": "programs measured on this machine, alone and together: a plan, no study"}
    sections = ", ".join(title_of(table) for table in TABLES if table)
    return Entry("plan of the laboratory", ("measure",), row,
                 {**row, "sections": sections, "use": "joulewise new --kind measure"})  # fmt: skip


def _kernels() -> list[Entry]:
    from joulewise.measure.bench.bundled import KERNELS

    return [
        Entry(
            "bundled kernel",
            (kernel.name,),
            {"name": kernel.name, "summary": kernel.meaning},
            {"name": kernel.name, "summary": kernel.meaning, "footprint": kernel.usual_size,
             "use": f'kernel = "{kernel.name}" in a [[program]] of a plan of `joulewise measure`'},
        )
        for kernel in KERNELS.values()
    ]  # fmt: skip


def _figures() -> list[Entry]:
    from joulewise.present.page import all_figures

    rows = [{"name": figure.name, "title": figure.title, "needs": figure.needs_words} for figure in all_figures()]
    return [Entry("figure", (row["name"],), row, row) for row in rows]


def _keys() -> list[Entry]:
    from joulewise.study.schema import study_keys

    return [
        Entry(
            "study key",
            tuple(dict.fromkeys((key.path, key.path.rpartition(".")[2]))),
            {"key": key.path, "of": key.source, "default": key.default, "meaning": key.meaning},
            {"of": key.source, "meaning": key.meaning, "type": key.kind,
             "default": key.default or "must be given",
             "sweep": "a list of such values" if key.is_swept else "not possible", "column": key.column},
        )
        for key in study_keys()
    ]  # fmt: skip


def _plan_keys() -> list[Entry]:
    from joulewise.measure.plan.table import plan_keys, title_of

    return [
        Entry(
            "plan key",
            tuple(dict.fromkeys((key.path, key.name))),
            {"key": key.path, "default": key.default, "meaning": key.meaning},
            {"of": f"{title_of(key.table)} of a plan of `joulewise measure`", "meaning": key.meaning,
             "type": key.kind, "default": key.default or "must be given"},
        )
        for key in plan_keys()
    ]  # fmt: skip


def _plan_sections() -> list[Entry]:
    from joulewise.measure.plan.table import TABLES, title_of

    return [
        Entry(
            "section of a plan",
            (table, title_of(table)),
            {"section": title_of(table), "meaning": section.__doc__},
            {"written": title_of(table), "meaning": section.__doc__, "keys": ", ".join(section.model_fields),
             "use": f"joulewise explain {table}.KEY"},
        )
        for table, section in TABLES.items()
        if table
    ]  # fmt: skip


def _columns() -> list[Entry]:
    from joulewise.study.columns import COLUMNS

    return [
        Entry(
            "output column",
            (column.name, f"{column.table}.{column.name}"),
            {"table": column.table, "column": column.name, "unit": column.unit, "studies": column.kinds or "all",
             "meaning": column.meaning},
            {"table": column.table, "studies": column.kinds or "all", "unit": column.unit, "meaning": column.meaning},
        )
        for column in COLUMNS
    ]  # fmt: skip


def _experiments() -> list[Entry]:
    from joulewise.cli.reproduce import all_experiments

    return [
        Entry(
            "experiment",
            (experiment.id,),
            {"id": experiment.id, "title": experiment.title, "source": experiment.source},
            {"id": experiment.id, "title": experiment.title, "source": experiment.source,
             "reading": experiment.reading, "claims": ", ".join(claim.id for claim in experiment.claims),
             "use": f"joulewise reproduce {experiment.id}"},
        )
        for experiment in all_experiments().values()
    ]  # fmt: skip


def _words() -> list[Entry]:
    from joulewise.present.page import all_pages

    found: dict[tuple[str, str], list[str]] = {}
    for kind, page in all_pages().items():
        for word, meaning in page.glossary.items():
            found.setdefault((word, meaning), []).append(kind)
    return [
        Entry(
            "word",
            (word, word.lower()),
            {"word": word, "studies": ", ".join(kinds), "meaning": meaning},
            {"studies": ", ".join(kinds), "meaning": meaning},
        )
        for (word, meaning), kinds in found.items()
    ]


def _rules() -> list[Entry]:
    from joulewise.study.catalogue import judging

    text = " ".join((judging.__doc__ or "").split())
    return [Entry("rule", ("verdict",), {"name": "verdict", "summary": text}, {"meaning": text})]


KINDS: dict[str, Callable[[], list[Entry]]] = {
    name: cache(entries)
    for name, entries in {
        "kinds": _kinds,
        "policies": _policies,
        "job-policies": _job_policies,
        "methods": _methods,
        "generators": _generators,
        "figures": _figures,
        "experiments": _experiments,
        "kernels": _kernels,
        "keys": _keys,
        "plan-sections": _plan_sections,
        "plan-keys": _plan_keys,
        "columns": _columns,
        "words": _words,
        "rules": _rules,
        "values": _values,
    }.items()
}
SHORT = ("kinds", "policies", "job-policies", "methods", "generators", "figures", "experiments", "kernels")
"""The kinds that a plain `list` shows."""
