"""The words a reader of a report on a facility needs, one meaning each."""

from __future__ import annotations

from joulewise.present.glossary import STATISTICS, trial_of

GLOSSARY = {
    "Plan": (
        "The share of its time that each core spends on each task type, the P-state for each, and the supply "
        "temperature of every CRAC unit."
    ),
    "Reward rate": (
        "Reward per second if no core slowed another, in percent of that of all tasks that arrive. No more tasks "
        "of a type count than arrive."
    ),
    "Earned in a day": (
        "The reward of the tasks that ended by their deadlines in a simulated day, in percent of that of all tasks "
        "that arrive. Tasks come one by one at random, wait for cores, and are slowed by what runs beside them. This "
        "is what a plan is worth."
    ),
    "Co-located reward rate": (
        "The reward rate of a plan with the slowdown that cores of one processor cause each other, if no task had to "
        "wait. A task counts only if it ends by its deadline beside the worst that its neighbours run, unless the "
        "study asks that of tasks alone, as Oxley et al. 2014 do (`deadlines_alone`)."
    ),
    "Proven bound": (
        "No plan that keeps the cap and the redlines has a higher co-located reward rate. Prices for power, "
        "temperatures and tasks prove it, and `joulewise verify` checks the proof. It is a bound on plans: a day may "
        "earn more than its plan and the bound, because a task that is late beside the worst of its neighbours does "
        "not count in a plan, and in a day may have others beside it and be in time."
    ),
    "Memory class": "How much a task type uses the memory, and so how much it slows others and is slowed by them.",
    "CRAC unit": "It takes in warm air and blows out cold air at its supply temperature. Colder air costs more.",
    "Redline": "The warmest air that a node may take in.",
    "Cap": "The most that nodes and CRAC units may draw together.",
    "Worth of another kW": (
        "By how much at most the co-located reward rate rises if the cap is 1 kW higher: the price of power that "
        "proves the bound."
    ),
    "Trial": trial_of("techniques"),
    **STATISTICS,
}
