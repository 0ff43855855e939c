"""What may stand at a place of a study's text, after the JSON schema of studies, and what it means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from typing import Any

from joulewise.serve.run.lines import Lines
from joulewise.study.parsing.schema import json_schema
from joulewise.study.parsing.study import VARIANT

MOST = 50
"""So many offers are made at once."""

_SOURCES = "how the section is filled; each way has keys of its own"

_COMMENT = re.compile(r"(?:[^#\"']|\"[^\"]*\"|'[^']*')*#")
_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.-]*)$")
_KEY = re.compile(r"\s*([\w.-]*)$")
_LAST = re.compile(r"[\w.+-]*")
"""The word at the end of a text that is read backwards."""

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Offer:
    """What may stand there: the text that would be written, and what it means."""

    text: str
    meaning: str


@dataclass(frozen=True)
class Offers:
    """What may stand at a place in place of the characters from `start` on of its line, and what the place is for."""

    start: int
    about: str
    offers: tuple[Offer, ...]


def offers_at(text: str, line: int, column: int) -> Offers:
    """What may stand before a cursor, on a line from 1 and behind so many of its characters."""
    lines = Lines(text)
    whole = lines.lines[line - 1] if 0 < line <= len(lines.lines) else ""
    written = whole[:column]
    if _COMMENT.match(written):
        return Offers(column, "", ())
    if within := lines.key_at(line):
        return _values(written, lines, line, within.path)
    if header := _HEADER.match(written):
        return _offers(header.start(1), header[1], _sections(), "sections of a study")
    key, equals, _ = written.partition("=")
    section, in_variant = lines.section_at(line)
    if equals:
        return _values(written, lines, line, ".".join(filter(None, (section, key.replace(" ", "")))))
    word = _KEY.match(written)
    if word is None:
        return Offers(column, "", ())
    there = lines.values_in(section, line)
    own = whole.partition("=")[0].strip()
    found = _properties(section, there, in_variant=in_variant)
    unused = {name: value for name, value in found.items() if name == own or name not in there}
    about = f"keys of [{section}]" if section else "keys of a variant" if in_variant else "keys at the top of a study"
    dotted = _section_names() if not section else ()  # of a variant
    offers = [_key_offer(name, value, "." if name in dotted else " = ") for name, value in unused.items()]
    return _offers(word.start(1), word[1], offers, about)


def _key_offer(name: str, value: Json, ending: str) -> Offer:
    return Offer(f"{name}{ending}", value.get("description", _source_words(value)))


def _source_words(value: Json) -> str:
    """What to say of a key that only chooses between sources."""
    return _SOURCES if any("const" in form for form in _forms(value)) else ""


def _values(written: str, lines: Lines, line: int, path: str) -> Offers:
    """What may be the value of a key."""
    start = _value_start(written)
    section, _, key = path.rpartition(".")
    in_variant = lines.section_at(line)[1]
    value = _properties(section, lines.values_in(section, line), in_variant=in_variant).get(key, {})
    told: dict[str, str] = {}
    for offer in (*_told(value, value.get("description", "")), *_named(section, key)):
        told[offer.text] = told.get(offer.text) or offer.meaning
    offers = list(starmap(Offer, told.items()))
    return _offers(start, written[start:], offers, value.get("description", _source_words(value)))


def _value_start(written: str) -> int:
    """Where the value begins that one is writing: at the last quote, or else at the last word."""
    last = _LAST.match(written[::-1])
    return written.rfind('"') if '"' in written else len(written) - (last.end() if last else 0)


def _offers(start: int, word: str, offers: Sequence[Offer], about: str) -> Offers:
    """Those offers that go on with a word: those that begin with it, then those that have it in them."""
    typed = word.lstrip('"').casefold()
    texts = {offer: offer.text.lstrip('"').casefold() for offer in offers}
    found = [offer for offer in offers if texts[offer].startswith(typed)]
    found += [offer for offer in offers if typed and typed in texts[offer] and offer not in found]
    return Offers(start, about, tuple(found[:MOST]))


def _properties(section: str, there: Mapping[str, str], *, in_variant: bool) -> dict[str, Json]:
    """The keys of a section, given what stands in it: what it says of its source leaves the keys of that one."""
    properties = _schema()["properties"]
    if not section:
        top = properties[VARIANT]["items"]["properties"] if in_variant else properties
        return {name: value for name, value in top.items() if in_variant or name not in (*_section_names(), VARIANT)}
    value = properties.get(section, {})
    forms = _forms(value)
    chosen = [form for form in forms if _fits(form, there)] or forms
    found: dict[str, Json] = {}
    for name, each in ((name, each) for form in chosen for name, each in form.get("properties", {}).items()):
        both = [found[name], each] if name in found and "const" in each else []
        found[name] = {"anyOf": both} if both else found.get(name, each)
    return found


def _forms(value: Json) -> Sequence[Json]:
    forms: Sequence[Json] = value.get("anyOf", [value])
    return forms


def _fits(form: Json, there: Mapping[str, str]) -> bool:
    """Whether a source is the one that a section names, or has the keys that stand there."""
    properties = form.get("properties", {})
    named = [(name, each["const"]) for name, each in properties.items() if "const" in each]
    if any(there.get(name, "").split("#")[0].strip() == json.dumps(const) for name, const in named):
        return True
    return not named and bool(there) and all(name in properties for name in there if name)


def _told(value: Json, meaning: str) -> Iterator[Offer]:
    """The values that a schema names: those of a list, yes and no, and what is taken where nothing is given."""
    meaning = value.get("description", meaning)
    if "const" in value:
        yield Offer(json.dumps(value["const"]), meaning)
    if "default" in value:
        yield Offer(json.dumps(value["default"]), "what is taken where nothing is said")
    for each in value.get("enum", ()):
        yield Offer(json.dumps(each), "")
    if value.get("type") == "boolean":
        yield from (Offer("true", ""), Offer("false", ""))
    for each in value.get("anyOf", ()):
        yield from _told(each, meaning)
    if isinstance(value.get("items"), Mapping):
        yield from _told(value["items"], meaning)


def _sections() -> list[Offer]:
    properties = _schema()["properties"]
    offers = [Offer(f"{name}]", properties[name].get("description", "")) for name in _section_names()]
    return [*offers, Offer(f"[{VARIANT}]]", properties[VARIANT]["items"]["description"])]


@cache
def _section_names() -> tuple[str, ...]:
    """The sections that a study may have."""
    return tuple(name for name, value in _schema()["properties"].items() if "properties" in _forms(value)[0])


@cache
def _schema() -> Json:
    return json_schema()


@cache
def _named(section: str, key: str) -> tuple[Offer, ...]:
    """The names of what kinds of studies compare by this key, such as policies, which the schema leaves open."""
    from joulewise.study.kinds.systems import all_systems

    systems = [
        system
        for system in all_systems()
        if any((each.section.name, each.main) == (section, key) for each in system.kinds)
    ]
    entries = (entry for system in systems for entries in system.lists.values() for entry in entries())
    return tuple(Offer(json.dumps(entry.names[0]), _meaning(entry.row)) for entry in entries)


def _meaning(row: Mapping[str, Any]) -> str:
    """What a row of a list says beside the name."""
    return "; ".join(str(value) for value in list(row.values())[1:] if value)
