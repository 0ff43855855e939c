"""The words a reader of a report on tasks known in advance needs, one meaning each."""

from __future__ import annotations

from joulewise.present.glossary import KNEE, STATISTICS, UTILITY, trial_of

GLOSSARY = {
    "Utility": UTILITY,
    "Assignment": (
        "Which machine runs which task, in which P-state and in which order; times follow from it. All tasks are "
        "known in advance, and none starts before it has arrived."
    ),
    "Front": "Assignments of which none is beaten by another in both energy and utility.",
    "Proven bound": (
        "No assignment earns more utility than the line shows for its energy, whether a search found it or not. Prices "
        "for machine time and energy prove it, and `joulewise verify` checks the proof."
    ),
    "Hypervolume": (
        "The area that a front dominates, down to no utility and up to 1.8 times the least energy of all tasks. It is "
        "in percent of the same area of the proven bound, or of the whole box, as if all tasks earned all they are "
        "worth for the least energy."
    ),
    "Certified": (
        "Proven, in a way that can be checked without trusting the search. The certified share of a front "
        "is its hypervolume in percent of that of the proven bound: no front has more than 100 %, and what is "
        "missing may be missing in the front or in the bound."
    ),
    "Objective": (
        "What a search counts as energy and utility: by mean times and powers, or over samples of them, where "
        "these are uncertain."
    ),
    "Knee": KNEE,
    "Seeds": (
        "Assignments made by simple rules that the first population of a genetic search has; the others are drawn."
    ),
    "Fresh samples": (
        "Draws of all times and powers that the search has not seen. The same draws judge all assignments."
    ),
    "Percentile": (
        "A search for percentile X counts the utility that X percent of the samples reach and the energy that X "
        "percent of them stay within: 99 is cautious, 1 hopeful."
    ),
    "Trial": trial_of("methods"),
    **STATISTICS,
}
