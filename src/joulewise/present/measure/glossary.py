"""The words a reader of the laboratory's report needs, one meaning each."""

from __future__ import annotations

LABORATORY = {
    "Program": "A command line that is measured.",
    "Alone": "A program that runs while nothing else does: its baseline.",
    "Group": "Programs that run at the same time, each on cores of its own.",
    "Slowdown": "How much longer a program takes beside others than alone at the same clock: 30 % is 1.3 times.",
    "Suffers, causes": "The mean slowdown of a program, and that of others beside it, over all pairs measured.",
    "Misses per instruction": (
        "Last-level cache misses over instructions: how often a program must go to memory, which all programs share."
    ),
    "Class": (
        "Programs are divided so that logarithms of their misses per instruction (or of what they suffer and cause, "
        "where misses were not counted) differ least within classes; I is the lightest."
    ),
    "Clock": "The frequency or the governor that cores were told to use; 'as is' where nothing was set.",
    "Way": (
        "Restart: a program that ends early is started again until all have ended once, so that no member is ever "
        "alone. "
        "Once: it is not, so that the energy until the last has ended is that of running each once."
    ),
    "Static and dynamic power": "What is drawn with nothing running, and what a program adds to it.",
    "Saved": "By how much less energy programs need together than one after the other, as a share of the latter.",
    "95 % confidence interval": (
        "The range that would hold the true mean in 95 of 100 such experiments (Student's t over repetitions). "
        "With one repetition there is none."
    ),
}
"""The words of the laboratory."""
