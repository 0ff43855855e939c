"""The claims of Friese, chapter 8, judged on an analysis: of a real machine, or of a synthetic one to try the rules.

Heavy programs are those of the highest class of memory intensity, light ones all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from joulewise.measure.analysis.analysis import Analysis
from joulewise.measure.analysis.estimates import mean_of, quotient, sum_width
from joulewise.measure.analysis.intensity import MUTUAL, class_order
from joulewise.measure.analysis.judging import Difference, at_most, ordering
from joulewise.measure.analysis.together import best_clock_follows
from joulewise.measure.synthetic.machine import MADE_UP
from joulewise.verdicts import ClaimFinding, Verdict

HARDLY = 0.10
"""Slowdowns and changes of misses per instruction below this share are "hardly" and "no change"."""
_CIRCULAR = "classes follow from slowdowns here, as no counters could be read: the claim can hold partly at most"
_ONE_CLASS = "intervals do not separate heavy and light programs"


class LaboratoryClaim(NamedTuple):
    """A claim of the chapter, what was published, and the function that judges it."""

    id: str
    says: str
    published: str
    judge: Callable[[Analysis], tuple[str, Verdict]]
    note: str = ""


def findings(analysis: Analysis) -> list[ClaimFinding]:
    """Claims 8.1 to 8.8 judged on an analysis; a synthetic machine shows what the rules say, and is no evidence."""
    judged = [_judged(claim, analysis) for claim in CLAIMS]
    return [_without_evidence(finding) for finding in judged] if is_made_up(analysis) else judged


def is_made_up(analysis: Analysis) -> bool:
    """Whether any of it was read of a synthetic machine."""
    return bool(analysis.observations["notes"].str.contains(MADE_UP, literal=True).any())


def _judged(claim: LaboratoryClaim, analysis: Analysis) -> ClaimFinding:
    ours, verdict = claim.judge(analysis)
    circular = _CIRCULAR if claim.id in _BY_CLASS and _is_circular(analysis) else ""
    note = "; ".join(filter(None, (claim.note, circular)))
    return ClaimFinding(claim.id, claim.says, claim.published, ours, verdict, note)


def _without_evidence(finding: ClaimFinding) -> ClaimFinding:
    if finding.verdict == "not testable":
        return finding
    ours = f"{finding.verdict} by the rule on a synthetic machine, which was made so: {finding.ours}"
    return replace(finding, ours=ours, verdict="not testable")


def _is_circular(analysis: Analysis) -> bool:
    return MUTUAL in analysis.programs["basis"]


def _heavy(analysis: Analysis) -> str | None:
    """The highest class, if there is more than one."""
    names = analysis.programs["class"].drop_nulls().unique().to_list()
    return max(names, key=class_order) if len(names) > 1 else None


def _over_clocks(frame: pl.DataFrame, keys: list[str], value: str, width: str) -> Iterator[Difference]:
    """Means over clocks, with their intervals."""
    for names, rows in frame.drop_nulls(value).partition_by(keys, as_dict=True, maintain_order=True).items():
        joined = sum_width(*rows[width].to_list())
        mean = float(rows[value].to_numpy().mean())
        yield Difference(", ".join(map(str, names)), mean, None if joined is None else joined / rows.height)


def _capped(analysis: Analysis, judged: tuple[str, Verdict]) -> tuple[str, Verdict]:
    """Partly at most, where classes follow from the very slowdowns that are judged."""
    ours, verdict = judged
    return ours, at_most("partly", verdict) if _is_circular(analysis) else verdict


def _intensities(analysis: Analysis) -> tuple[str, Verdict]:
    rows = analysis.programs.drop_nulls("class").sort("intensity", descending=True, nulls_last=True)
    words = [
        f"{name} {kind}" if value is None else f"{name} {kind} ({value:.3g})"
        for name, kind, value in rows.select("program", "class", "intensity").iter_rows()
    ]
    return ", ".join(words) or "no classes", "not testable"


def _energies(analysis: Analysis) -> tuple[str, Verdict]:
    rows = analysis.together.drop_nulls("saved_share").sort("saved_share")
    if rows.is_empty():
        return "energy was not read", "not testable"
    rows = rows.filter(pl.col("clock_mhz").is_null().all() | (pl.col("clock_mhz") == pl.col("clock_mhz").max()))
    is_once = pl.col("way") == "once"
    rows = rows.filter(is_once | ~is_once.any())
    ends = [rows.row(at, named=True) for at in (0, -1)]
    words = [f"{row['group']}: {row['alone_j']:,.0f} J apart, {row['together_j']:,.0f} J together" for row in ends]
    return "; ".join(dict.fromkeys(words)), "not testable"


def _heavy_together(analysis: Analysis) -> tuple[str, Verdict]:
    heavy = _heavy(analysis)
    if heavy is None:
        return _ONE_CLASS, "not judged"
    both = (pl.col("class") == heavy) & (pl.col("beside") == heavy)
    time = [
        Difference(f"time, {heavy} beside {heavy}", slowdown, width)
        for slowdown, width in analysis.by_class.filter(both).select("slowdown", "slowdown_ci").iter_rows()
    ]
    misses = list(_miss_rises(analysis, heavy))
    ours, verdict = ordering([*time, *misses], _ONE_CLASS)
    if not misses and verdict == "reproduced":
        return f"{ours}; misses were not read", "partly"
    return _capped(analysis, (ours, verdict))


def _miss_rises(analysis: Analysis, heavy: str) -> Iterator[Difference]:
    """How much more often heavy programs miss among heavy ones than alone, as a share of that alone."""
    kinds = dict(analysis.programs.select("program", "class").iter_rows())
    light = [name for name, kind in kinds.items() if kind != heavy]
    mixed = analysis.members.filter(pl.col("program").is_in(light))["group"].unique()
    alone = analysis.alone.select("program", "clock", pl.col("intensity", "intensity_ci").name.prefix("alone_"))
    ratio, width = quotient("intensity", "intensity_ci", "alone_intensity", "alone_intensity_ci")
    rows = analysis.members.filter(~pl.col("group").is_in(mixed.implode())).join(alone, on=["program", "clock"])
    rises = rows.with_columns(rise=ratio - 1, rise_ci=width)
    for difference in _over_clocks(rises, ["program", "group"], "rise", "rise_ci"):
        yield difference._replace(name=f"misses, {difference.name}")


def _light_unmoved(analysis: Analysis) -> tuple[str, Verdict]:
    heavy = _heavy(analysis)
    if heavy is None:
        return _ONE_CLASS, "not judged"
    pairs = [
        Difference(f"{kind} beside {beside}", HARDLY - slowdown, width)
        for kind, beside, slowdown, width in analysis.by_class.select(
            "class", "beside", "slowdown", "slowdown_ci"
        ).iter_rows()
        if kind != heavy
    ]
    light = analysis.programs.filter(pl.col("class") != heavy)["program"].implode()
    larger = analysis.additive.filter(pl.col("program").is_in(light)).drop_nulls("measured")
    mean, width = mean_of(larger.group_by("group", "program").agg(pl.col("measured").mean())["measured"].to_list())
    groups = [] if mean is None else [Difference("groups of three and more", HARDLY - mean, width)]
    return _capped(analysis, ordering([*pairs, *groups], _ONE_CLASS))


def _steady_misses(analysis: Analysis) -> tuple[str, Verdict]:
    measured = analysis.alone.drop_nulls(["clock_mhz", "intensity"]).sort("clock_mhz")
    read = pl.col("intensity", "intensity_ci")
    ends = (
        measured.group_by("program", maintain_order=True)
        .agg(read.first().name.prefix("low_"), read.last().name.prefix("high_"), pl.len())
        .filter(pl.col("len") > 1)
    )
    ratio, width = quotient("high_intensity", "high_intensity_ci", "low_intensity", "low_intensity_ci")
    margins = ends.select("program", margin=HARDLY - (ratio - 1).abs(), width=width).drop_nulls("margin")
    return ordering([Difference(*row) for row in margins.iter_rows()], "misses were not read at two frequencies")


def _light_follow_clock(analysis: Analysis) -> tuple[str, Verdict]:
    heavy = _heavy(analysis)
    joined = analysis.scaling.join(analysis.programs.select("program", "class").drop_nulls(), on="program")
    rows = joined.select("program", "class", "share_scaled", "share_ci").rows()
    differences = [
        Difference(f"{light} over {dark}", share - other, sum_width(width, other_width))
        for light, kind, share, width in rows
        for dark, other_kind, other, other_width in rows
        if kind != heavy and other_kind == heavy
    ]
    return ordering(differences, "no heavy and light programs were measured at two frequencies")


def _saves(analysis: Analysis) -> tuple[str, Verdict]:
    differences = list(_over_clocks(analysis.together, ["group", "way"], "saved_share", "saved_ci"))
    return ordering(differences, "energy of groups and of their members alone was not read more than once")


def _best_differs(analysis: Analysis) -> tuple[str, Verdict]:
    """Reproduced if clear best frequencies differ between programs alone and between companies, partly if one does."""
    rows = analysis.best_clock.drop_nulls("program").unique(["group", "program"], maintain_order=True)
    if rows.height < 2:
        return "energy was not read at two frequencies", "not judged"
    follows = best_clock_follows(rows.filter("is_clear"))
    differing = [words for words, is_so in zip(("programs", "companies"), follows) if is_so]
    least = ", ".join(f"{mhz:g}" for mhz in sorted(rows["least_energy_mhz"].unique()))
    summary = f"least energy at {least} MHz; clear differences between {' and '.join(differing) or 'none'}"
    if all(follows):
        return summary, "reproduced"
    return summary, "partly" if any(best_clock_follows(rows)) else "not reproduced"


_BY_CLASS = ("8.3", "8.4")
CLAIMS = tuple(
    LaboratoryClaim(*row)
    for row in (
        ("8.1", "memory intensities and classes (table 8.2)", "canneal III (2.25e-2), streamcluster III (1.64e-2), "
         "blackscholes II (2.29e-5), bodytrack I (7.44e-6)", _intensities,
         "the text calls blackscholes the least memory intensive, with fewer than one miss in 100,000 instructions, "
         "but table 8.2 gives bodytrack the smaller value: 7.44e-6 against 2.29e-5, which is more than two in 100,000; "
         "section 8.5 counts both as Intensity I"),
        ("8.2", "energy of running together (table 8.5)", "canneal + streamcluster: 30,509 J apart, 24,281 J together",
         _energies,
         "the text calls it table 5; two more bodytrack beside canneal + blackscholes cost 17,674 J there, 92 % of "
         "what they cost alone, where all other further members cost 21 to 27 %: that row does not fit shared static "
         "power"),
        ("8.3", "heavy beside heavy: misses and time rise", "figures 8.1 and 8.2", _heavy_together),
        ("8.4", "light programs are hardly slowed", "figures 8.3 and 8.4", _light_unmoved, "hardly: below 10 %"),
        ("8.5", "the clock does not change misses per instruction", "figures 8.1 to 8.4", _steady_misses,
         "no change: below 10 % between the lowest and the highest frequency"),
        ("8.6", "light programs are more sensitive to the clock", "figures 8.1 to 8.4", _light_follow_clock,
         "the share of the time at the highest clock that scales with it, light less heavy"),
        ("8.7", "sharing static power lowers total energy", "table 8.5", _saves),
        ("8.8", "the best P-state depends on program and company", "figures 8.1 to 8.4", _best_differs),
    )
)  # fmt: skip
