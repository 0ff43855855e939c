"""The words a reader of the report needs, one meaning each."""

from __future__ import annotations

GLOSSARY = {
    "Utility": (
        "What the system earns for a task. It depends on the task's priority and falls with the time "
        "between its arrival and its completion."
    ),
    "Maximum utility": (
        "What would be earned if every task started the moment it arrived, on the machine that runs it "
        "fastest, with no other task in the way: the yardstick of the literature. On a busy system no policy "
        "comes near."
    ),
    "% of maximum utility": (
        "Utility earned divided by the maximum utility of the same trial. It makes trials and loads comparable."
    ),
    "Proven bound": (
        "What no policy can exceed, even one that knows the future: prices for machine time prove it, and "
        "`joulewise verify` checks the proof. Utility in percent of it says how much of what is possible was "
        "earned, at least."
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
    "Trial": "One drawing of all random numbers. All policies meet the same trials.",
    "Run": "One trial of one combination of the swept values.",
    "95 % confidence interval": (
        "The range that would hold the true mean in 95 of 100 such studies (Student's t over the trials). "
        "With one trial there is none."
    ),
    "Paired difference": (
        "Two policies compared trial by trial, so that what is common to both cancels. If its interval "
        "reaches zero, these trials do not tell the two apart. Intervals are for one comparison each, not "
        "for all at once."
    ),
}
