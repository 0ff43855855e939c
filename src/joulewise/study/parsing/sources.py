"""Which source of values a section of a study names, or why it names none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.study.kinds.systems import all_kinds, all_sections, installed
from joulewise.study.parsing import sweep
from joulewise.study.spec import parameters
from joulewise.study.spec.source import Section, Source


def source_of(section: Section, raw: sweep.Raw, where_of: parameters.Where) -> Source:
    """The source of values that a section names."""
    selector = section.selector
    if not selector:
        return section.sources[section.name]
    is_strange = section.decides and raw.get(selector) not in list(section.sources)
    section = all_sections()[section.name] if is_strange else section
    broken = installed().problems if is_strange else ()
    tables = [source for key, source in section.tables.items() if key in raw]
    raise_if_any(_for_others(section, raw, where_of))
    if selector not in raw and not tables and not section.default:
        choices = ", ".join(f'"{name}"' for name in section.choices)
        keys = " or ".join(sorted([selector, *section.tables]))
        problem = Problem(where_of(""), "says nothing of where its values come from", f"must have {keys}",
                          f"{selector}s are {choices}")  # fmt: skip
        raise InputError(problem, *broken)
    name = raw.get(selector, (*tables, section.default)[0])
    if not isinstance(name, str):
        advice = "give several as variants, [[variant]]"
        raise InputError(Problem(where_of(selector), f"found {name!r}", "must be one name", advice))
    if selector in raw and name not in section.choices:
        raise InputError(unknown_name(where_of(selector), name, section.choices), *broken)
    return section.sources[name]


def _for_others(section: Section, raw: sweep.Raw, where_of: parameters.Where) -> Iterator[Problem]:
    """The source that a section names, where it is for studies of other kinds than this one."""
    if _knows_all(section, raw):
        return
    every = all_sections()[section.name]
    named = {every.selector: raw.get(every.selector)} if every.selector in raw else {}
    named |= {key: source for key, source in every.tables.items() if key in raw}
    for key, name in named.items():
        if isinstance(name, str) and name in every.sources and name not in section.sources:
            allowed = f"is for studies with {' or '.join(_users(section.name, name))}"
            advice = f"here, give {' or '.join(section.tables)}, or {every.selector} = {_quoted(section.choices)}"
            yield Problem(where_of(key), f"found {raw[key]!r}", allowed, advice)


def _knows_all(section: Section, raw: sweep.Raw) -> bool:
    """Whether all that a section says is of this kind of study, so that no other need be asked."""
    hints = [parameters.hints_of(source.parameters) for source in section.sources.values()]
    keys = {parameters.key_of(name, hint) for of_source in hints for name, hint in of_source.items()}
    named = raw.get(section.selector)
    return raw.keys() <= {section.selector, *keys} and (named is None or named in list(section.sources))


def _users(section: str, source: str) -> Iterator[str]:
    """What makes studies of a system or a workload, such as [manager]."""
    kinds = [kind for kind in all_kinds().values() if source in (each.name for each in kind.uses(section))]
    for deciding in {kind.section.name: kind.section for kind in kinds}.values():
        goals = [kind.decision.name for kind in kinds if kind.section.name == deciding.name]
        selector = deciding.selector
        yield f"[{deciding.name}] and {selector} = {_quoted(goals)}" if selector else f"[{deciding.name}]"


def _quoted(names: Iterable[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)
