"""The policy tables: what the CLI lists, studies name, docs describe and the conformance suite runs."""

from __future__ import annotations

from joulewise.policies.tasks.objectives import (
    LOSS_PER_TIME,
    PATIENT_UTILITY_PER_TIME,
    SOONEST,
    URGENT_UTILITY_PER_TIME,
    UTILITY,
    UTILITY_PER_ENERGY,
    UTILITY_PER_POWER,
    UTILITY_PER_TIME,
)
from joulewise.policies.tasks.pickers import at_random, in_turn
from joulewise.policies.tasks.policy import Order, Policy

_ROWS = (
    Policy(
        "random", "Random", "immediate",
        "A machine at random among those that can run the task.",
        "Friese 2.4.2.1", picks=at_random,
    ),
    Policy(
        "round-robin", "Round-Robin", "immediate",
        "The next machine of a shuffled ring that can run the task.",
        "Friese 2.4.2.1", picks=in_turn,
    ),
    Policy(
        "max-util", "Max Util", "immediate",
        "The machine that earns the most utility, which is the one that completes the task first.",
        "Friese 2.4.2.2", objective=UTILITY,
    ),
    Policy(
        "max-upt", "Max UPT", "immediate",
        "The machine that earns the most utility per second of execution.",
        "Friese 2.4.2.2", objective=UTILITY_PER_TIME,
    ),
    Policy(
        "met-random", "MET-Random", "immediate",
        "A machine at random among those of the type that runs the task fastest.",
        "Friese 2.4.2.2", picks=at_random, best_types=1,
    ),
    Policy(
        "met-max-util", "MET-Max Util", "immediate",
        "Of the machines of the type that runs the task fastest, the one that completes it first.",
        "Friese 2.4.2.2", objective=UTILITY, best_types=1,
    ),
    Policy(
        "k-best-types", "K-Best Types", "immediate",
        "Of the machines of the K types that run the task fastest, the one that completes it first; K is "
        "`manager.best_types`, or 2.",
        "Friese 2.4.2.2", objective=UTILITY, best_types=2,
    ),
    Policy(
        "min-min-comp", "Min-Min Comp", "batch",
        "Repeatedly, the task that can complete first goes to the machine where it does.",
        "Friese 2.4.3", objective=SOONEST,
    ),
    Policy(
        "sufferage", "Sufferage", "batch",
        "Each machine takes, of the tasks that would earn most there, the one that would lose most on its second best.",
        "Friese 2.4.3", objective=UTILITY, rule="sufferage",
    ),
    Policy(
        "max-max-util", "Max-Max Util", "batch",
        "Repeatedly, the task that can earn the most utility goes to the machine where it does.",
        "Friese 2.4.3", objective=UTILITY,
    ),
    Policy(
        "max-max-upt", "Max-Max UPT", "batch",
        "Repeatedly, the task that can earn the most utility per second of execution goes to the machine "
        "where it does.",
        "Friese 2.4.3", objective=UTILITY_PER_TIME,
    ),
    Policy(
        "met-max-util-max-upt", "MET-Max Util-Max UPT", "batch",
        "Max-Max UPT, with each task on the machine type that runs it fastest.",
        "Friese 2.4.3", objective=UTILITY_PER_TIME, best_types=1,
    ),
    Policy(
        "max-max-upe", "Max-Max UPE", "batch",
        "Repeatedly, the task that can earn the most utility per joule goes to the machine and P-state where it "
        "does.",
        "Friese 3.3.2", objective=UTILITY_PER_ENERGY,
    ),
    Policy(
        "max-max-upp", "Max-Max UPP", "batch",
        "Repeatedly, the task that can earn the most utility per watt goes to the machine and P-state where it "
        "does.",
        "Friese 7.3.4", objective=UTILITY_PER_POWER,
    ),
    Policy(
        "weighted-util", "Weighted Util", "batch",
        "Max-Max Util with energy subtracted from utility, each as a part of the most it can be, by `manager.weight`.",
        "Friese 3.3.2", objective=UTILITY, is_weighted=True,
    ),
    Policy(
        "weighted-upt", "Weighted UPT", "batch",
        "Max-Max UPT with energy subtracted from utility per second, each as a part of the most it can be, by "
        "`manager.weight`.",
        "Friese 3.3.2", objective=UTILITY_PER_TIME, is_weighted=True,
    ),
    Policy(
        "weighted-upe", "Weighted UPE", "batch",
        "Max-Max UPE with energy subtracted from utility per joule, each as a part of the most it can be, by "
        "`manager.weight`.",
        "Friese 3.3.2", objective=UTILITY_PER_ENERGY, is_weighted=True,
    ),
    Policy(
        "max-max-loss", "Max-Max Loss", "batch",
        "Repeatedly, the task that would lose the most utility per second by ending one execution time later goes to "
        "the machine where it does.",
        "Joulewise, after Friese 9", objective=LOSS_PER_TIME,
    ),
    Policy(
        "urgent-upt", "Urgent UPT", "batch",
        "Max-Max UPT, with half of what a task would earn one execution time later taken off its utility.",
        "Joulewise, after Friese 9", objective=URGENT_UTILITY_PER_TIME,
    ),
    Policy(
        "patient-upt", "Patient UPT", "batch",
        "Max-Max UPT, with tasks left waiting where they would complete before their utility has risen.",
        "Joulewise, after Friese 9", objective=PATIENT_UTILITY_PER_TIME,
    ),
    Policy(
        "prices", "Prices", "batch",
        "Utility less the prices of machine time and energy, which the policy finds as it goes: it raises the price of "
        "what runs short and never makes a choice that is not worth its price.",
        "Joulewise", objective=UTILITY, is_priced=True, declines=True,
    ),
    Policy(
        "bag-makespan", "Bag Makespan", "batch",
        "All that waits is split over machine types and P-states by a linear program, so that it would be done first "
        "within the power that the budget leaves; each share is served by utility per second.",
        "after Tarplee II, III", objective=UTILITY_PER_TIME, program="makespan",
    ),
    Policy(
        "bag-prices", "Bag Prices", "batch",
        "Utility less the prices of machine time and energy, which come from a linear program: what they are worth to "
        "the tasks of the last hours. A choice that is not worth its price is never made.",
        "Joulewise, after Tarplee II", objective=UTILITY, is_priced=True, declines=True, program="worth",
    ),
    *(
        Policy(
            f"{name}-{short}", f"{title} {long}", "batch",
            f"Tasks {how}; each goes to the machine that is free first, {where}.",
            "Friese 4.3.4", rule="in-order", order=Order(newest, ranked, all_pstates),
        )
        for name, title, how, newest, ranked in (
            ("fcfs", "FCFS", "in order of arrival", False, False),
            ("lcfs", "LCFS", "with the newest first", True, False),
            ("prioritized-fcfs", "Prioritized FCFS", "by priority level, then in order of arrival", False, True),
            ("prioritized-lcfs", "Prioritized LCFS", "by priority level, then with the newest first", True, True),
        )
        for short, long, where, all_pstates in (
            ("p0", "P-state 0", "in P-state 0", False),
            ("all", "All P-states", "in the fastest P-state that the energy filter lets pass", True),
        )
    ),
    Policy(
        "random-batch", "Random (batch)", "batch",
        "A task at random goes to a machine and P-state at random among those allowed to it.",
        "Friese 4.3.4", rule="at-random",
    ),
)  # fmt: skip

POLICIES = {policy.name: policy for policy in _ROWS}

BY_HAND = Policy(
    "by-hand", "By hand", "batch", "Whoever steps through the events assigns the tasks.", "ours", rule="assigned"
)
"""The policy of a session, which is asked for nothing."""
