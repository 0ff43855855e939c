"""The policy tables: what the CLI lists, studies name, docs describe and the conformance suite runs."""

from __future__ import annotations

from joulewise.policies.objectives import SOONEST, UTILITY, UTILITY_PER_TIME
from joulewise.policies.pickers import at_random, in_turn
from joulewise.policies.policy import Policy

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
        "min-min-comp", "Min-Min Comp", "batch",
        "Again and again the task that can complete first goes to the machine where it does.",
        "Friese 2.4.3", objective=SOONEST,
    ),
    Policy(
        "max-max-util", "Max-Max Util", "batch",
        "Again and again the task that can earn the most utility goes to the machine where it does.",
        "Friese 2.4.3", objective=UTILITY,
    ),
    Policy(
        "max-max-upt", "Max-Max UPT", "batch",
        "Again and again the task that can earn the most utility per second of execution goes to the machine "
        "where it does.",
        "Friese 2.4.3", objective=UTILITY_PER_TIME,
    ),
)  # fmt: skip

POLICIES = {policy.name: policy for policy in _ROWS}
