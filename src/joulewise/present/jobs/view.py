"""Records of parallel jobs seen by scheduler: a policy with its commitment, each at its best tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present.jobs.keys import ADAPTS, COMMITMENT, FILTER, LENIENCY, LOAD, POLICY, SCHEDULER, THRESHOLD
from joulewise.present.records import VARIANT, Key, Records
from joulewise.present.views import first_kept, reshaped

JOBS, JOB_TRACES, JOB_TYPES, USERS, QUEUES = "jobs", "job_traces", "job_types", "users", "queues"
CLUSTERS, PIECES, FINDINGS, LOGGED, WAITS = "clusters", "pieces", "findings", "logged", "waits"
"""The detail tables of parallel jobs."""

JOB_COLUMNS = (
    "job", "user", "partition", "fate", "cluster", "nodes", "ready_s", "start_s", "end_s", "wait_s",
    "bounded_slowdown", "true_s", "planned_s", "requested_s",
)  # fmt: skip
"""What figures look at in tables of jobs, which may be long."""
GREEDY = "greedy"
NO_FILTER, _ADAPTIVE = "none", "-adaptive"
FILTERS = (NO_FILTER, "per-task", "per-task-adaptive", "per-resource", "per-resource-adaptive")
TUNINGS = (LENIENCY, THRESHOLD)
_COVERED = (POLICY, COMMITMENT, FILTER, ADAPTS, VARIANT)
_DEFAULT = "place-holders"


def by_scheduler(records: Records, *, folds: bool = False) -> Records:
    """The records with the key SCHEDULER in place of policy, commitment and variant; filters in their order.

    Where each variant has one scheduler, that goes by the variant's name, in the order of the study. Else the filter
    is part of the scheduler if that has never another one, or where asked for; variants that schedulers, filters and
    the other swept keys do not tell apart stay a key, or give way to the load where that does.
    """
    swept = [key for key in records.varying if key not in _COVERED]
    runs = _in_order(_adaptive(records.runs).with_columns(_schedulers(records)))
    kinds = [key for key in (FILTER, *TUNINGS) if key in runs.columns and runs[key].n_unique() > 1]
    keys = list(dict.fromkeys([SCHEDULER, *kinds, *swept]))
    if VARIANT in records.varying:
        named = [VARIANT, *swept]
        both = list(dict.fromkeys([*named, *keys]))
        if runs.n_unique(both) == runs.n_unique(named):
            names = runs[VARIANT].unique(maintain_order=True).drop_nulls().to_list()
            runs = runs.with_columns(pl.col(VARIANT).cast(pl.Enum(names)).alias(SCHEDULER))
            words = {**records.keys, SCHEDULER: Key("variant", stands_alone=True)}
            return reshaped(replace(records, keys=words), runs, [SCHEDULER, *swept])
        if runs.n_unique(both) > runs.n_unique(keys):
            keys.append(_telling(runs, keys, both))
    if FILTER in kinds and (folds or runs.n_unique([SCHEDULER, FILTER]) == runs[SCHEDULER].n_unique()):
        return reshaped(records, _folded(records, runs), [key for key in keys if key != FILTER])
    return reshaped(records, runs, keys)


def _telling(runs: pl.DataFrame, keys: Sequence[str], both: Sequence[str]) -> str:
    """What tells apart the variants that the keys do not: the load where it is enough, else the variants themselves."""
    is_new = LOAD in runs.columns and LOAD not in keys
    return LOAD if is_new and runs.n_unique([*keys, LOAD]) == runs.n_unique(both) else VARIANT


def _folded(records: Records, runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with filters in the names of schedulers."""
    pairs = runs.select(SCHEDULER, FILTER).unique().sort(SCHEDULER, FILTER)
    names = {
        (scheduler, kind): scheduler if kind == NO_FILTER else f"{scheduler}, {records.label(FILTER, kind)}"
        for scheduler, kind in pairs.iter_rows()
    }
    texts = [names[pair] for pair in runs.select(SCHEDULER, FILTER).iter_rows()]
    return runs.with_columns(pl.Series(SCHEDULER, texts, dtype=pl.Enum(list(dict.fromkeys(names.values())))))


def job_view(records: Records, *, folds: bool = False) -> tuple[Records, str]:
    """The records by scheduler, each at the leniency and threshold at which it earned most; and what to say of it."""
    seen = by_scheduler(records, folds=folds)
    keys = [key for key in seen.study.axes if key not in TUNINGS]
    tuned = [key for key in TUNINGS if _tunes(seen, keys, key)]
    share = seen.share
    if not tuned or not seen.measures(share):
        return reshaped(seen, seen.runs, keys), ""
    mean = seen.error.sampling.figure(pl.col(share))
    means = seen.runs.group_by([*keys, *tuned], maintain_order=True).agg(mean).drop_nulls(share)
    ranked = means.sort(share, descending=True, maintain_order=True)
    best = ranked.unique(subset=keys, keep="first", maintain_order=True)
    runs = seen.runs.join(best, on=[*keys, *tuned], how="semi", nulls_equal=True, maintain_order="left")
    words = " and ".join(seen.words(key).name for key in tuned)
    return reshaped(seen, runs, keys), f" Each is shown at the {words} at which it earned most."


def _tunes(seen: Records, keys: Sequence[str], key: str) -> bool:
    """Whether runs that agree in the keys differ in a tuning that has an effect: a leniency needs a filter."""
    runs = filtered(seen) if key == LENIENCY else seen.runs
    return key in runs.columns and runs.n_unique([*keys, key]) > runs.n_unique(keys)


def filtered(records: Records) -> pl.DataFrame:
    """The runs with an energy filter that has a leniency of its own."""
    if FILTER not in records.runs.columns:
        return records.runs.clear()
    runs, name = _adaptive(records.runs.with_columns(pl.col(FILTER).cast(pl.String))), pl.col(FILTER)
    plain = runs.filter((name != NO_FILTER) & ~name.str.ends_with(_ADAPTIVE))
    return records.runs.join(plain, on="run", how="semi", maintain_order="left")


def kept(records: Records, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """These columns of a detail table with the records' keys, of the first kept trial; empty where it lacks one."""
    return first_kept(records, name, columns, [SCHEDULER])


def node_word(records: Records) -> str:
    """What a node is there: a processor, where each node has one alone, as on sites and on machines of logs."""
    name = "cores_per_node"
    is_core = records.keeps(CLUSTERS, name) and records.frame(CLUSTERS)[name].max() == 1
    return "processor" if is_core else "node"


def is_sited(records: Records) -> bool:
    """Whether some of the runs are on a site that a file describes."""
    return "system.site" in records.runs.columns and records.runs["system.site"].count() > 0


def powers_said(records: Records) -> str:
    """What a caption says of powers that no rules of the study give: those of sites, or rules of the package."""
    if records.tells_utility:
        return ""
    of_site = " Powers are those in the file of the site; where it gives none, those of rules that come with the"
    of_rules = " Powers are those of rules that come with the package, not of the machine: the study gives none."
    return f"{of_site} package." if is_sited(records) else of_rules


def _schedulers(records: Records) -> pl.Series:
    """The scheduler of each run in words: the policy, and its commitment where that is a choice that varies."""
    names = [key for key in (POLICY, COMMITMENT) if key in records.runs.columns]
    rows = list(records.runs.select(names).iter_rows(named=True))
    chosen = {_commitment(row) for row in rows if records.mode(str(row[POLICY])) == GREEDY}
    titles = records.labels(POLICY)
    texts = [_text(records, titles, row, several=len(chosen) > 1) for row in rows]
    policies = list(titles)
    places = [(policies.index(row[POLICY]), _commitment(row) == _DEFAULT) for row in rows]
    ranked = dict.fromkeys(text for _, text in sorted(zip(places, texts, strict=True)))
    return pl.Series(SCHEDULER, texts, dtype=pl.Enum(list(ranked)))


def _text(records: Records, titles: dict[Any, str], row: dict[str, Any], *, several: bool) -> str:
    commits = several and records.mode(str(row[POLICY])) == GREEDY
    return f"{titles[row[POLICY]]}, {_commitment(row)}" if commits else titles[row[POLICY]]


def _commitment(row: dict[str, Any]) -> str:
    return row.get(COMMITMENT) or _DEFAULT


def _adaptive(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with filters that adapt their leniency as filters of their own."""
    if not {ADAPTS, FILTER} <= set(runs.columns):
        return runs
    adapts = pl.col(ADAPTS).fill_null(value=False) & (pl.col(FILTER) != NO_FILTER)
    name = pl.col(FILTER).cast(pl.String)
    return runs.with_columns(pl.when(adapts).then(name + _ADAPTIVE).otherwise(name).alias(FILTER))


def _in_order(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with energy filters in their order, others than ours last."""
    if FILTER not in runs.columns:
        return runs
    others = [name for name in runs[FILTER].unique(maintain_order=True).drop_nulls() if name not in FILTERS]
    return runs.with_columns(pl.col(FILTER).cast(pl.Enum([*FILTERS, *others])))
