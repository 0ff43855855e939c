"""The keys of a study file: a table for people (`explain`, the reference) and a JSON schema for editors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from joulewise import units
from joulewise.study.kinds.systems import all_sections
from joulewise.study.parsing.study import Heading
from joulewise.study.spec import parameters
from joulewise.study.spec.report import REPORT, Shown
from joulewise.study.spec.source import Section, Source
from joulewise.study.spec.trials import TUNE
from joulewise.study.spec.tuning import Tuning

_SHOWN: dict[str, Callable[[float], str]] = {
    "_s": lambda value_s: units.duration(value_s) if value_s else "0 s",
    "_j": units.energy,
    "_w": lambda value_w: f"{value_w:g} W",
}

_ASIDE: dict[str, tuple[type, str]] = {
    TUNE: (Tuning, "values that trials of their own choose, before others judge them"),
    REPORT: (Shown, "what the report shows"),
}
"""Sections that are no part of any point: what their keys are, and what they are for."""

Json = dict[str, Any]


@dataclass(frozen=True)
class StudyKey:
    """One key of a study file: its dotted path, the generator it belongs to, if any, and what it means.

    `column` is its name in `runs.parquet`, `default` is as a file would give it ("" when it must be given).
    """

    path: str
    source: str
    kind: str
    default: str
    meaning: str
    column: str
    is_swept: bool


def study_keys() -> tuple[StudyKey, ...]:
    """Every key of a study file, in the order in which a file has them."""
    heading = tuple(_keys_of("", "", Heading, is_swept=False))
    aside = (key for name, (owner, _) in _ASIDE.items() for key in _keys_of(f"{name}.", "", owner, is_swept=False))
    sections = (
        key
        for section in all_sections().values()
        for source in section.sources.values()
        for key in _keys_of(f"{section.name}.", _shown_source(section, source), source.parameters, is_swept=True)
    )
    return (*heading, *_selector_keys(), *sections, *aside)


def json_schema() -> Json:
    """The JSON schema of a study file; wherever a sweep is allowed, so is a list."""
    heading = parameters.model_of(Heading).model_json_schema()
    defaults = {key.path: key.default for key in _keys_of("", "", Heading, is_swept=False)}
    every = all_sections()
    sections = {name: _section_schema(section, partial=False) for name, section in every.items()}
    overrides = {name: _section_schema(section, partial=True) for name, section in every.items()}
    required = [name for name, section in every.items() if section.is_required and not section.decides]
    deciding = {name: section for name, section in every.items() if section.decides}
    needed = [[*(key for key in required if key not in section.spares), name] for name, section in deciding.items()]
    variant = {
        "type": "object",
        "description": "a named combination: its keys are laid over those of the file",
        "properties": {"name": {"type": "string", "minLength": 1}, **overrides},
        "required": ["name"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Joulewise study",
        "type": "object",
        "properties": {
            **{name: _or_text(_tidy(heading["properties"][name], default), name) for name, default in defaults.items()},
            **sections,
            **{name: _aside_schema(owner, summary) for name, (owner, summary) in _ASIDE.items()},
            "variant": {"type": "array", "items": variant, "minItems": 1},
        },
        "required": ["name"],
        "anyOf": [*({"required": names} for names in needed), {"required": ["variant"]}],
        "not": {"anyOf": [{"required": list(pair)} for pair in combinations(deciding, 2)]},
        "additionalProperties": False,
    }


def _keys_of(prefix: str, source: str, owner: type, *, is_swept: bool) -> Iterator[StudyKey]:
    hints = parameters.hints_of(owner)
    for field in dataclasses.fields(owner):
        hint = hints[field.name]
        yield StudyKey(
            path=prefix + parameters.key_of(field.name, hint),
            source=source,
            kind=parameters.kind_of(field.name, hint),
            default=_default(field, hint),
            meaning=field.metadata["help"],
            column=prefix + field.name if is_swept else "",
            is_swept=is_swept,
        )


def _aside_schema(owner: type, summary: str) -> Json:
    found = parameters.model_of(owner).model_json_schema()["properties"]
    defaults = {key.path: key.default for key in _keys_of("", "", owner, is_swept=False)}
    properties = {name: _tidy(value, defaults[name]) for name, value in found.items()}
    return {"description": summary, "type": "object", "properties": properties, "additionalProperties": False}


def _selector_keys() -> Iterator[StudyKey]:
    for section in all_sections().values():
        if section.selector:
            names = " or ".join(f'"{name}"' for name in section.choices)
            path = f"{section.name}.{section.selector}"
            yield StudyKey(path, "", names, "", section.chosen, path, is_swept=False)


def _shown_source(section: Section, source: Source) -> str:
    return source.name if section.selector else ""


def _default(field: dataclasses.Field[Any], hint: Any) -> str:
    """The default as a study file would give it."""
    if field.default is dataclasses.MISSING:
        return ""
    if field.default is None:
        return "none"
    if parameters.unit_of(field.name, hint):
        return json.dumps(_SHOWN[field.name[-2:]](field.default))
    return json.dumps(dict(field.default) if parameters.table_of(hint) else field.default)


def _section_schema(section: Section, *, partial: bool) -> Json:
    """One section; in a variant (`partial`) nothing is required, because the rest stands in the file."""
    forms = [_source_schema(section, source, partial=partial) for source in section.sources.values()]
    return {"description": section.summary, **(forms[0] if len(forms) == 1 else {"anyOf": forms})}


def _source_schema(section: Section, source: Source, *, partial: bool) -> Json:
    found = parameters.model_of(source.parameters).model_json_schema()
    defaults = {key.path: key.default for key in _keys_of("", "", source.parameters, is_swept=True)}
    properties = {name: _or_sweep(_tidy(value, defaults[name])) for name, value in found["properties"].items()}
    required = list(found.get("required", []))
    if source.name in section.choices:
        properties = {section.selector: {"const": source.name, "description": source.summary}, **properties}
        required.insert(0, section.selector)
    form: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    return form if partial or not required else {**form, "required": required}


def _or_sweep(value: Json) -> Json:
    """The schema of one value, or of a list of such values."""
    return _either(value, lambda plain: {"type": "array", "items": plain, "minItems": 1}, _range_schema)


def _range_schema(plain: Json) -> Json:
    """The schema of a range of values, nothing where they are no numbers."""
    if plain.get("type") not in ("integer", "number") and "format" not in plain:
        return {}
    ends = dict.fromkeys(("from", "to"), plain)
    properties = {**ends, "log": {"type": "boolean"}}
    return {"type": "object", "properties": properties, "required": list(ends), "additionalProperties": False}


def _or_text(value: Json, name: str) -> Json:
    """The schema of a key of the heading, some of which may be text of a form."""
    text = parameters.text_of(parameters.hints_of(Heading)[name])
    return _either(value, lambda _plain: {"type": "string", "pattern": text.pattern}) if text else value


def _either(value: Json, *others: Callable[[Json], Json]) -> Json:
    """The schema of a value, or of what else may stand in its place."""
    told: Json = {key: value[key] for key in ("description", "default") if key in value}
    plain = {key: part for key, part in value.items() if key not in told}
    return {**told, "anyOf": [plain, *filter(None, (other(plain) for other in others))]}


def _tidy(value: Json, default: str) -> Json:
    """Pydantic's schema of a field without what TOML cannot say (null) or people need not see (titles)."""
    value = {key: part for key, part in value.items() if key not in ("title", "default")}
    if default not in ("", "none"):
        value["default"] = json.loads(default)
    arms = [arm for arm in value.pop("anyOf", []) if arm != {"type": "null"}]
    if len(arms) == 1:
        return {**value, **arms[0]}
    return {**value, "anyOf": arms} if arms else value
