"""The examples that come with the package: studies and plans of the laboratory, and files that some of them name."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[2] / "examples"
SITE = "site.toml"
"""The site that one of them names; it is no study."""


@dataclass(frozen=True)
class Example:
    """A study or a plan that `joulewise new --example` writes."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _content(self) -> dict[str, Any]:
        return tomllib.loads(self.text)

    @property
    def description(self) -> str:
        return str(self._content["description"])

    @property
    def is_plan(self) -> bool:
        """Whether it is a plan of the laboratory."""
        return not {"workload", "system"} & self._content.keys()

    @property
    def named(self) -> dict[str, bytes]:
        """The files that it names, which are written beside it."""
        others = (path for path in sorted(self.path.parent.iterdir()) if path.is_file() and not _is_example(path))
        return {path.name: path.read_bytes() for path in others if path.name in self.text}

    def written_to(self, path: Path, study: str) -> str:
        """Its text in another file, as a study or plan of that name."""
        text = self.text.replace(self.path.name, str(path))
        return text.replace(f'name = "{self.name}"', f'name = "{study}"', 1)


def examples() -> dict[str, Example]:
    """All of them, by name."""
    return {path.stem: Example(path) for path in sorted(_FOLDER.iterdir()) if _is_example(path)}


def _is_example(path: Path) -> bool:
    """Whether a file is a study or a plan; if not, it is there for those that name it."""
    return path.suffix == ".toml" and path.name != SITE
