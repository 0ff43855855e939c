"""Everything that `list` lists and `explain` explains, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from joulewise.errors import Problem
from joulewise.study.kinds.system import Entry


def _generators() -> list[Entry]:
    from joulewise.study.kinds.systems import all_sections
    from joulewise.study.parsing.schema import study_keys

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
        for section in all_sections().values()
        if section.selector == "generator"
        for name in section.choices
    ]


def _methods() -> list[Entry]:
    from joulewise.study.kinds.systems import all_kinds

    return [
        Entry(
            "method",
            (name, method.title),
            {"goal": kind.decision.name, "name": name, "summary": method.summary},
            {"goal": kind.decision.name, "name": name, "title": method.title, "summary": method.summary,
             "source": method.source, "keys": ", ".join(method.keys), "use": f'{kind.main_axis} = "{name}"'},
        )
        for kind in all_kinds().values()
        for name, method in kind.methods.items()
    ]  # fmt: skip


def _values() -> list[Entry]:
    """Values with a meaning of their own that no other table tells."""
    from joulewise.study.kinds.systems import all_kinds

    return [
        Entry(
            "value of a study key",
            (value,),
            {"key": use.split()[0], "value": value, "meaning": meaning},
            {"key": use.split()[0], "meaning": meaning, "use": use.format(value)},
        )
        for kind in all_kinds().values()
        for use, values in kind.values.items()
        for value, meaning in values.items()
    ]


def _kinds() -> list[Entry]:
    from joulewise.study.kinds.systems import all_kinds, installed
    from joulewise.study.spec.column import RUNS

    tables = {
        name: dict.fromkeys(column.table for column in kind.columns if column.table != RUNS)
        for name, kind in all_kinds().items()
    }
    broken = [("system", problem) for problem in installed().problems] + [("list", problem) for problem in _clashes()]
    return [
        Entry(
            "kind of study",
            (name,),
            {"name": name, "summary": kind.summary},
            {"name": name, "summary": kind.summary, "section": f"[{kind.section.name}]",
             "workloads": ", ".join(source.name for source in kind.workloads), "tables": ", ".join(tables[name]),
             "use": f"joulewise new --kind {name}"},
        )
        for name, kind in all_kinds().items()
    ] + [_measure()] + [_broken(noun, problem.where, problem.found) for noun, problem in broken]  # fmt: skip


def _broken(noun: str, where: str, found: str) -> Entry:
    """What a package brought and nobody can use."""
    row = {"name": where, "summary": found}
    return Entry(f"broken {noun}", (where,), row, row)


def _measure() -> Entry:
    """Plans of the laboratory, which people choose beside the kinds of studies."""
    from joulewise.measure.plan.table import TABLES, title_of

    row = {"name": "measure", "summary": "programs measured on this machine, alone and together: a plan, no study"}
    sections = ", ".join(title_of(table) for table in TABLES if table)
    return Entry("plan of the laboratory", ("measure",), row,
                 {**row, "sections": sections, "use": "joulewise new --kind measure"})  # fmt: skip


def _examples() -> list[Entry]:
    from joulewise.study.parsing.examples import examples

    return [
        Entry(
            "example",
            (name, f"{name}.toml"),
            {"name": name, "description": example.description},
            {"description": example.description, "with": ", ".join(example.named),
             "use": f"joulewise new --example {name}"},
        )
        for name, example in examples().items()
    ]  # fmt: skip


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
    from joulewise.present.gallery import Described, described
    from joulewise.present.page import installed_pages

    broken = [Described(problem.where, "", problem.found, "") for problem in installed_pages().problems]
    return [
        Entry(noun, (each.name,), {name: row[name] for name in ("name", "studies", "shows")}, row)
        for noun, listed in (("figure", described()), ("broken page", broken))
        for each in listed
        for row in [each._asdict()]
    ]


def _keys() -> list[Entry]:
    from joulewise.study.parsing.schema import study_keys

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


def _sections() -> list[Entry]:
    from joulewise.study.kinds.systems import all_sections
    from joulewise.study.parsing.schema import study_keys

    keys = [key.path for key in study_keys()]
    return [
        Entry(
            "section of a study",
            (name, f"[{name}]"),
            {"section": f"[{name}]", "meaning": section.summary},
            {"written": f"[{name}]", "meaning": section.summary, "chosen by": section.selector,
             "one of": ", ".join(section.choices),
             "keys": ", ".join(dict.fromkeys(key.partition(".")[2] for key in keys if key.startswith(f"{name}."))),
             "use": f"joulewise explain {name}.KEY"},
        )
        for name, section in all_sections().items()
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
    from joulewise.study.kinds.columns import all_columns

    return [
        Entry(
            "output column",
            (column.name, f"{column.table}.{column.name}"),
            {"table": column.table, "column": column.name, "unit": column.unit, "studies": described.studies,
             "meaning": column.meaning},
            {"table": column.table, "studies": described.studies, "unit": column.unit, "meaning": column.meaning},
        )
        for described in all_columns()
        for column in [described.column]
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
    from joulewise import verdicts

    def told(kind: str, names: Sequence[str], text: str) -> Entry:
        return Entry(kind, tuple(names), {"name": names[0], "summary": text}, {"meaning": text})

    rule = " ".join((verdicts.__doc__ or "").split())
    words = ("verdict", "claim", "open", *verdicts.VERDICTS)
    return [told("rule", words, rule), *(told("standing", [name], text) for name, text in verdicts.STANDINGS.items())]


List = Callable[[], Sequence[Entry]]

_FIRST: Mapping[str, List] = {"kinds": _kinds}
_LAST: Mapping[str, List] = {
    "methods": _methods,
    "generators": _generators,
    "figures": _figures,
    "experiments": _experiments,
    "examples": _examples,
    "kernels": _kernels,
    "sections": _sections,
    "keys": _keys,
    "plan-sections": _plan_sections,
    "plan-keys": _plan_keys,
    "columns": _columns,
    "words": _words,
    "rules": _rules,
    "values": _values,
}
_LONG = (
    "examples",
    "sections",
    "keys",
    "site-keys",
    "log-columns",
    "plan-sections",
    "plan-keys",
    "columns",
    "words",
    "rules",
    "values",
)
"""What a plain `list` does not show."""


@cache
def lists() -> Mapping[str, List]:
    """Everything there is to list, by kind: what systems bring of their own among it."""
    offered = _own()
    for where, name, entries in _brought():
        offered.setdefault(name, partial(_entries_of, where, entries))
    return {name: cache(entries) for name, entries in offered.items()}


def _own() -> dict[str, List]:
    """The lists that are ours, by kind."""
    from joulewise.study.kinds.built_in import BUILT_IN
    from joulewise.study.kinds.systems import built_in

    of_systems = {name: entries for system in map(built_in, BUILT_IN) for name, entries in system.lists.items()}
    return {**_FIRST, **of_systems, **_LAST}


def _brought() -> list[tuple[str, str, List]]:
    """The lists of installed packages: where each comes from, its name, and what makes it."""
    from joulewise.study.kinds.systems import installed

    return [
        (f"list {name!r} of the system {system.name!r}", name, entries)
        for system in installed().systems
        for name, entries in system.lists.items()
    ]


def _clashes() -> Iterator[Problem]:
    """The lists of installed packages that are left out, because there is one of that name."""
    taken = set(_own())
    for where, name, _ in _brought():
        if name in taken:
            yield Problem(where, "left out: a list of that name is there already", advice="name it otherwise")
        taken.add(name)


def _entries_of(where: str, entries: Callable[[], Sequence[Any]]) -> Sequence[Entry]:
    """What a package lists; where that raises or is no list of entries, one entry that says so."""
    try:
        found = list(entries())
    except Exception as error:  # whatever a foreign package raises must not stop the other lists
        return [_broken("list", where, f"cannot be made: {type(error).__name__}: {error}")]
    strange = [each for each in found if not isinstance(each, Entry)]
    return [_broken("list", where, f"has {strange[0]!r}, which is no Entry")] if strange else found


def short_lists() -> list[str]:
    """The kinds that a plain `list` shows."""
    return [name for name in lists() if name not in _LONG]
