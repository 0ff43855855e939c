"""The keys of a site's file, as lists show them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from joulewise.study.kinds.system import Entry


def site_keys() -> list[Entry]:
    """Every key of a site's file, with those of `[slurm]`."""
    from joulewise.worlds.jobs.sites.site_file import SECTIONS, key_of
    from joulewise.worlds.jobs.sites.written import KINDS

    tables = [
        _entry(
            f"[[{name}]]", key_of(each), each.metadata["help"], KINDS[each.metadata["kind"]].said, _default(each), {}
        )
        for name, section in SECTIONS.items()
        for each in fields(section.holds)
    ]
    return tables + _slurm_keys()


def _slurm_keys() -> list[Entry]:
    from joulewise.worlds.jobs.sites.slurm_settings import OF_PASSES, OF_PREEMPTION, SETTINGS
    from joulewise.worlds.jobs.sites.written import KINDS

    entries = []
    for name, setting in SETTINGS.items():
        kind = KINDS[setting.kind]
        default = "" if setting.usual is None else kind.write(setting.usual)
        used = (
            "where jobs give way to others"
            if name in OF_PREEMPTION
            else "no"
            if setting.usual is None
            else 'with passes = "slurm"'
            if name in OF_PASSES
            else "by multifactor"
        )
        entries.append(_entry("[slurm]", name, setting.meaning, kind.said, default, {"replayed": used}))
    return entries


def _entry(section: str, key: str, meaning: str, kind: str, default: str, more: dict[str, str]) -> Entry:
    path = f"{section.strip('[]')}.{key}"
    return Entry(
        "key of a site's file",
        (path, key),
        {"key": path, "default": default, "meaning": meaning},
        {"of": f"{section} of the file of a site", "meaning": meaning, "type": kind, "default": default, **more},
    )


def _default(of: Any) -> str:
    """What a key is where it is left out."""
    from joulewise.worlds.jobs.sites.written import KINDS

    if of.default is MISSING and of.default_factory is MISSING:
        return "must be given"
    value = of.default if of.default is not MISSING else of.default_factory()
    return KINDS[of.metadata["kind"]].write(value) if value is not None and value not in ((), {}) else ""
