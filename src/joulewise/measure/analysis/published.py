"""Tables 8.2 and 8.5 of Friese's dissertation as data, through the same analysis, and what they say of its claims."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from joulewise.measure.analysis.claims import CLAIMS, LaboratoryClaim
from joulewise.measure.analysis.columns import ALONE, TOGETHER, table
from joulewise.measure.analysis.intensity import N_CLASSES, classes
from joulewise.measure.analysis.together import beside_alone
from joulewise.measure.bench.bench import group_name
from joulewise.verdicts import ClaimFinding, Verdict

CLOCK_MHZ = 3400.0

INTENSITIES = {
    "canneal": ("III", 2.25e-2),
    "streamcluster": ("III", 1.64e-2),
    "blackscholes": ("II", 2.29e-5),
    "bodytrack": ("I", 7.44e-6),
}
"""Table 8.2: classes, and last-level cache misses per instruction."""
ALONE_J = {"canneal": 7873.0, "streamcluster": 22636.0, "blackscholes": 9347.0, "bodytrack": 9583.0}
"""Table 8.5: energies of programs alone at 3.40 GHz."""
TOGETHER_J = {
    ("canneal", "blackscholes"): 11055.0,
    ("canneal", "streamcluster"): 24281.0,
    ("canneal", "blackscholes", "bodytrack", "bodytrack"): 28729.0,
    ("canneal", "canneal", "streamcluster", "streamcluster"): 32504.0,
}
"""Table 8.5: energies of programs together at 3.40 GHz."""


@dataclass(frozen=True)
class PrintedTables:
    """An experiment of which only tables can be judged: nothing of it can be run without its machine."""

    id: str
    title: str
    source: str
    reading: str
    claims: tuple[LaboratoryClaim, ...] = CLAIMS


CHAPTER_8 = PrintedTables(
    "chapter-8",
    "Programs that share a machine: time, misses and energy, alone and together",
    "Friese, tables 8.2 and 8.5 (Intel i7-3770, four PARSEC programs)",
    "the printed tables go through the analysis of the laboratory; `joulewise measure PLAN` judges the same claims on "
    "programs and machines of one's own",
)

_ONLY_FIGURES = "printed as bars without numbers, so that it is judged on measurements only"


def intensity_table() -> pl.DataFrame:
    """Table 8.2 beside the classes that follow from its values: program, intensity, class, our_class."""
    ours = classes({name: value for name, (_, value) in INTENSITIES.items()}, N_CLASSES)
    rows = [(name, value, printed, ours[name]) for name, (printed, value) in INTENSITIES.items()]
    return pl.DataFrame(rows, ["program", "intensity", "class", "our_class"], orient="row")


def energy_table() -> pl.DataFrame:
    """Table 8.5 as the table `together` of an analysis; times and intervals were not printed."""
    label = f"{CLOCK_MHZ:g} MHz"
    alone = [{"program": name, "clock": label, "energy_j": joules} for name, joules in ALONE_J.items()]
    groups = {group_name(members): list(members) for members in TOGETHER_J}
    shared = {"way": "once", "clock": label, "clock_mhz": CLOCK_MHZ, "n": 9}
    together = [
        {**shared, "group": group, "size": len(members), "together_j": joules}
        for (group, members), joules in zip(groups.items(), TOGETHER_J.values(), strict=True)
    ]
    return beside_alone(table(TOGETHER, together), table(ALONE, alone), groups)


def published_findings() -> list[ClaimFinding]:
    """Claims 8.1 to 8.8 judged on what was printed."""
    judged = {"8.1": _classes_told(), "8.2": _energies_told(), "8.7": _savings_told()}
    unjudged: tuple[str, Verdict] = (_ONLY_FIGURES, "not testable")
    return [
        ClaimFinding(c.id, c.says, c.published, *judged.get(c.id, unjudged), c.note if c.id in judged else "")
        for c in CLAIMS
    ]


def _classes_told() -> tuple[str, Verdict]:
    programs = intensity_table()
    n_same = programs.filter(pl.col("class") == pl.col("our_class")).height
    words = f"{n_same} of {programs.height} classes follow from the values by the spread of their logarithms"
    return f"{words}; the values hold for the machine of the authors", "not testable"


def _energies_told() -> tuple[str, Verdict]:
    row = energy_table().filter(pl.col("group") == "canneal + streamcluster").row(0, named=True)
    words = f"{row['alone_j']:,.0f} J apart and {row['together_j']:,.0f} J together, as the table adds up"
    return f"{words}; joules hold for the machine of the authors", "not testable"


def _savings_told() -> tuple[str, Verdict]:
    """What the printed energies say of the claim; nobody else's, so that they are no test of it."""
    saved = energy_table()["saved_share"]
    n_less = int((saved > 0).sum())
    least, most = (100 * float(end) for end in (saved.min(), saved.max()))  # type: ignore[arg-type]
    words = f"{n_less} of {saved.len()} groups save energy, {least:.0f} to {most:.0f} %; no intervals were printed"
    return words, "not testable"
