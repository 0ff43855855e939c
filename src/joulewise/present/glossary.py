"""Words that reports on several systems explain alike."""

from __future__ import annotations

UTILITY = (
    "What the system earns for a task. It depends on the task's priority and falls with the time "
    "between its arrival and its completion."
)
KNEE = "The point of a front farthest from the straight line between its ends, both axes scaled to their range."
STATISTICS = {
    "Run": "One trial of one combination of the swept values.",
    "95 % confidence interval": (
        "The range that would hold the true mean in 95 of 100 such studies (Student's t over the trials). "
        "With one trial there is none."
    ),
}


def trial_of(compared: str) -> str:
    """What a trial is, where such things are compared: policies, methods, ..."""
    return f"One drawing of all random numbers. All {compared} meet the same trials."


def paired_difference_of(compared: str) -> str:
    """What a paired difference is, where such things are compared."""
    return (
        f"Two {compared} compared trial by trial, so that what is common to both cancels. If its interval "
        "reaches zero, these trials do not tell the two apart. Intervals are for one comparison each, not "
        "for all at once."
    )
