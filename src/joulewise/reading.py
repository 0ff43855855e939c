"""Files that are read back: they may be damaged, or come from elsewhere, so that each is held against a schema.

Everything that is wrong is an InputError with the file, the place in it and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from joulewise.errors import InputError, Problem

AGAIN = "remove it and run the study again"
Found = TypeVar("Found")


class Strict(BaseModel):
    """A schema of an object that may have more keys, and whose values are of these types and no others."""

    model_config = ConfigDict(strict=True, extra="allow")


def damaged(path: Path | str, place: str, found: str, allowed: str = "", advice: str = AGAIN) -> InputError:
    """What is raised for a file that is not as it was written."""
    return InputError(Problem(f"{path}: {place}" if place else str(path), found, allowed, advice))


def read_text(path: Path, advice: str = AGAIN) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise damaged(path, "", f"cannot be read: {one_line(error)}", advice=advice) from None


def read_any_object(path: Path, advice: str = AGAIN) -> dict[str, Any]:
    """The object in a JSON file."""
    return any_object(path, read_text(path, advice), advice)


def any_object(path: Path | str, text: str, advice: str = AGAIN) -> dict[str, Any]:
    """The object that a text of a file is in JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "", f"is damaged: {one_line(error)}", advice=advice) from None
    if not isinstance(found, dict):
        raise damaged(path, "", f"found {type(found).__name__}", "must be an object", advice)
    return found


def read_object(path: Path, schema: type[BaseModel], advice: str = AGAIN) -> dict[str, Any]:
    """The object in a JSON file, which is as a schema wants it."""
    found = read_any_object(path, advice)
    check_object(path, found, schema, advice)
    return found


def check_object(path: Path | str, found: object, schema: type[BaseModel], advice: str = AGAIN) -> None:
    """InputError where an object is not as a schema wants it."""
    try:
        schema.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        there = "is missing" if first["type"] == "missing" else f"found {_short(first['input'])}"
        raise damaged(path, _plain(".".join(map(str, first["loc"]))), there, first["msg"], advice) from None


def parsed(path: Path | str, value: object, parse: Callable[[Any], Found], advice: str = AGAIN) -> Found:
    """What a value of a file stands for."""
    try:
        return parse(value)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, InputError) as error:
        raise damaged(path, "", f"is damaged: {type(error).__name__}: {one_line(error)}", advice=advice) from None


def one_line(error: BaseException) -> str:
    """An error in one line, without anything raw of a file."""
    return _plain((str(error).strip() or type(error).__name__).splitlines()[0])


def _plain(text: str) -> str:
    return ascii(text)[1:-1]


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
