"""The words a reader of a report on serial tasks needs, one meaning each."""

from __future__ import annotations

from joulewise.present.glossary import STATISTICS, UTILITY, paired_difference_of, trial_of

GLOSSARY = {
    "Utility": UTILITY,
    "Proven bound": (
        "What no policy can exceed, even one that knows the future: prices for machine time and energy prove it, and "
        '`joulewise verify` checks the proof. With `bound = "trivial"` it is what tasks could earn if none were in the '
        "way of others."
    ),
    "% of what is possible": (
        "Utility earned divided by the proven bound of the same trial. The best possible may lie below the bound, so "
        "this is the least that it can be."
    ),
    "Utility if nothing had to wait": (
        "What would be earned if every task started the moment it arrived, on the machine that runs it fastest, with "
        "no other task in the way. Friese (2015, section 2.7.1) calls it the maximum utility. On a busy system no "
        "policy comes near."
    ),
    "Policy": (
        "The rule that decides which task runs on which machine. In immediate mode it places each task "
        "when it arrives and never moves it again; in batch mode it decides again and again on all tasks "
        "that have not started."
    ),
    "Mapping event": "A moment at which the policy decides.",
    "Dropping threshold": (
        "A task is dropped once the most it can still earn is below this value. At 0 nothing is dropped."
    ),
    "Trial": trial_of("policies"),
    **STATISTICS,
    "Paired difference": paired_difference_of("policies"),
}
