"""How Slurm writes values: times, lists of things with numbers, yes and no."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from joulewise.worlds.jobs.sites.hostlists import split_list
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB, NODES, PREEMPTIONS
from joulewise.worlds.jobs.sites.slurm_settings import SlurmSetting
from joulewise.worlds.jobs.sites.written import NO_JOB, RefusedError

NO_LIMIT = ("unlimited", "infinite", "-1")
NOTHING = ("", "(null)", "n/a", "none", "all", "no", "unlimited", "infinite", "0")
"""What Slurm's commands print for keys that nobody has set."""

_TIME = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?(?:\s*(sec|min))?")
_UNITS = {"sec": 1, "min": 60}
_SUFFIX = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([kmgt]?)", re.IGNORECASE)
_GRES_COUNT = re.compile(r"([0-9]{1,15})([kmgt]?)", re.IGNORECASE)
_WEIGHT = re.compile(r"([+-]?(?:[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}))([kmgt]?)", re.IGNORECASE)
_OURS = {"cpu": CORES, "node": NODES, "mem": MEMORY_MIB, "gres/gpu": GPUS}
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def slurm_seconds(text: str, unit_s: int = 60) -> float:
    """A time as Slurm writes it: minutes (or what `unit_s` says), m:s, h:m:s, d-h, d-h:m, d-h:m:s; inf for no limit."""
    if text.casefold() in NO_LIMIT:
        return math.inf
    found = _TIME.fullmatch(text)
    if found is None:
        raise RefusedError("must be minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s or UNLIMITED")
    days, *numbers, unit = found.groups()
    given = [int(number) for number in numbers if number is not None]
    if days is not None:
        factors: tuple[int, ...] = (3600, 60, 1)
    else:
        factors = {1: (_UNITS.get(unit, unit_s),), 2: (60, 1), 3: (3600, 60, 1)}[len(given)]
    return int(days or 0) * 86400 + float(sum(n * factor for n, factor in zip(given, factors)))


def slurm_grace_s(text: str) -> float:
    """A time that ends, in seconds where no more is said."""
    time_s = slurm_seconds(text, 1)
    if time_s == math.inf:
        raise RefusedError("must be seconds, m:s or h:m:s")
    return time_s


def slurm_limit_s(text: str) -> float | None:
    """A time limit, None for no limit."""
    if text.casefold() == "none":
        return None
    time_s = slurm_seconds(text)
    if time_s == 0:
        raise RefusedError("must be a time above 0, or UNLIMITED", NO_JOB)
    return None if time_s == math.inf else time_s


def slurm_whole(text: str) -> int:
    """A whole number."""
    if not re.fullmatch(r"-?[0-9]{1,15}", text):
        raise RefusedError("must be a whole number")
    return int(text)


def slurm_count(text: str) -> int:
    """A whole number of 0 or more."""
    n = slurm_whole(text)
    if n < 0:
        raise RefusedError("must be a whole number of 0 or more")
    return n


def slurm_limit(text: str) -> int | None:
    """A limit on how many, None for no limit."""
    if text.casefold() in NO_LIMIT:
        return None
    n = slurm_count(text)
    if n == 0:
        raise RefusedError("must be a whole number of 1 or more, or UNLIMITED", NO_JOB)
    return n


def slurm_flag(text: str) -> bool:
    """YES or NO."""
    if text.casefold() not in _YES:
        raise RefusedError("must be YES or NO")
    return _YES[text.casefold()]


def slurm_names(text: str) -> tuple[str, ...]:
    """Names between commas; none for ALL and what stands for nothing."""
    return () if text.casefold() in ("", "(null)", "n/a", "all") else tuple(dict.fromkeys(split_list(text)))


def slurm_preemption(text: str) -> str | None:
    """What becomes of jobs that give way; gang scheduling, and who may preempt, are said elsewhere."""
    modes = [mode for mode in split_list(text.casefold()) if mode not in ("gang", "within", "priority")]
    if not modes or modes[0] in ("none", "cluster"):
        return None
    if modes[0] not in PREEMPTIONS:
        raise RefusedError(f"must be one of {', '.join(mode.upper() for mode in PREEMPTIONS)}")
    return modes[0]


def slurm_mib(text: str) -> int:
    """A size in MiB, as 512000, 512G or 1.5T."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise RefusedError("must be a size such as 512G")
    return int(float(found[1]) * _SUFFIX[found[2].casefold() or "m"] / _SUFFIX["m"])


def slurm_things(text: str) -> list[tuple[str, str, int]]:
    """Generic resources, gpu:a100:4(S:0-1),nvme:2, as names, kinds ("" for none) and numbers (1 where none is said)."""
    if text.casefold() in NOTHING:
        return []
    return [_thing(re.sub(r"\(.*\)$", "", part)) for part in split_list(text)]


def _thing(text: str) -> tuple[str, str, int]:
    name, *rest = [word for word in text.split(":") if word.casefold() != "no_consume"]
    count = _GRES_COUNT.fullmatch(rest[-1]) if rest else None
    kinds = rest[:-1] if count else rest
    if not name or len(kinds) > 1:
        raise RefusedError("must be things such as gpu:a100:4,nvme:2")
    return name, kinds[0] if kinds else "", int(count[1]) * _SUFFIX[count[2].casefold()] if count else 1


def our_name(name: str) -> str:
    """What we call a thing of Slurm's: gres/gpu:a100 is a100, gres/nvme is nvme, license/matlab is matlab."""
    kind, _, inner = name.partition("/")
    if name.casefold() in _OURS:
        return _OURS[name.casefold()]
    return inner.rpartition(":")[2] if kind.casefold() in ("gres", "license") and inner else name


def slurm_billing(text: str) -> dict[str, float]:
    """What is billed for each thing, CPU=1.0,Mem=0.25G,GRES/gpu=2, under our names; for memory by the GiB."""
    weights: dict[str, float] = {}
    for part in split_list(text):
        name, _, number = part.partition("=")
        found, ours = _WEIGHT.fullmatch(number), our_name(name)
        if found is None or (found[2] and ours != MEMORY_MIB):
            raise RefusedError("must be things with weights, for example CPU=1.0,Mem=0.25G,GRES/gpu=2")
        unit = _SUFFIX["g"] / _SUFFIX[found[2].casefold() or "m"] if ours == MEMORY_MIB else 1
        weights[ours] = float(found[1]) * unit
    return weights


def slurm_weights(text: str) -> dict[str, float]:
    """Weights of things, CPU=1000,GRES/gpu=3000, by their names in lower case."""
    weights: dict[str, float] = {}
    for part in split_list(text):
        name, _, number = part.partition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not math.isfinite(weight):
            raise RefusedError("must be things with weights, for example CPU=1000,Mem=2000")
        weights[name.casefold()] = int(weight) if weight.is_integer() else weight
    return weights


_BY_KIND: Mapping[str, Callable[[str], Any]] = {
    "name": str.casefold,
    "names": lambda text: tuple(dict.fromkeys(split_list(text.casefold()))),
    "number": slurm_count,
    "whole": slurm_whole,
    "flag": slurm_flag,
    "weights": slurm_weights,
}


def slurm_setting(text: str, setting: SlurmSetting) -> Any:
    """The value of a setting, in lower case and in SI units; None where it says that there is none."""
    if setting.kind.startswith("time"):
        time_s = slurm_seconds(text, setting.unit_s)
        return None if time_s == math.inf else time_s
    if text.casefold() in ("", "(null)", "n/a") or (setting.kind == "number" and text.casefold() in NO_LIMIT):
        return None
    return _BY_KIND[setting.kind](text)
