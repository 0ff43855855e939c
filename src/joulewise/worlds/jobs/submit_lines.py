"""What the command of a job's submission asks for: its own options, and not those of the program behind them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import polars as pl

_WANTED = {"d": "dependency", "a": "array", "b": "begin"}
"""The options that are looked for, by their letters."""

_LETTERS_ALONE = "hHkOsvQVWuXEZlIK"
_WORDS_ALONE = (
    "batch", "bcast", "bell", "consolidate-segments", "contiguous", "disable-status", "exact", "exclusive",
    "external-launcher", "get-user-env", "help", "hold", "ignore-pbs", "immediate", "interactive", "kill-command",
    "kill-on-bad-exit", "label", "multi-prog", "nice", "no-allocate", "no-bell", "no-kill", "no-requeue", "no-shell",
    "oom-kill-step", "overcommit", "overlap", "oversubscribe", "parsable", "preserve-env", "propagate", "pty", "quiet",
    "quit-on-interrupt", "reboot", "requeue", "resv-ports", "send-libs", "share", "spread-job", "stepmgr", "test-only",
    "unbuffered", "usage", "use-min-nodes", "verbose", "version", "wait", "x11",
)  # fmt: skip
"""Options that stand alone, or have a value only behind "="."""

_FEWEST_LETTERS = 3
_ASKS = r"\s(?:-[dab]|--(?:dep|arr|beg))"


def own_options(lines: pl.Series) -> pl.Series:
    """The wanted options of each command, such as ` --begin=now+60`; none where it has none of them."""
    asking = lines.filter(lines.str.contains(_ASKS).fill_null(False)).unique()
    if asking.is_empty():
        return pl.repeat(None, lines.len(), dtype=pl.String, eager=True).alias(lines.name)
    told = [_told_by(line) for line in asking.to_list()]
    return lines.replace_strict(asking, told, default=None, return_dtype=pl.String)


def _told_by(line: str) -> str:
    """The wanted options of one command; of several alike the last one counts."""
    found = dict(_options(_words(line)[1:]))
    return "".join(f" --{name}={''.join(value.split())}" for name, value in found.items())


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark without another, as in a name
        return line.split()


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """The wanted options, up to the first word that is none: the script or the program, whose own ones follow."""
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word in ("-", "--") or not word.startswith("-"):
            return
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            is_alone = bool(equals) or name in _WORDS_ALONE
            wanted = next((full for full in _WANTED.values() if _is_short_for(full, name)), None)
        else:
            name, value = word[1], word[2:].removeprefix("=")
            is_alone = bool(value) or name in _LETTERS_ALONE
            wanted = _WANTED.get(name)
        if not is_alone and rest and not rest[-1].startswith("-"):
            value = rest.pop()
        if wanted is not None:
            yield wanted, value


def _is_short_for(full: str, name: str) -> bool:
    return len(name) >= _FEWEST_LETTERS and full.startswith(name)
