"""The table of policies for parallel jobs: what the CLI lists, studies name, docs describe and conformance runs."""

from __future__ import annotations

from joulewise.policies.jobs.orders import (
    BY_ARRIVAL,
    LARGEST,
    PER_ENERGY,
    PER_RESOURCE,
    PER_TIME,
    SHORTEST,
    UNICEF,
    UTILITY,
    WEIGHTS,
    WFP3,
    multifactor,
)
from joulewise.policies.jobs.policy import JobPolicy

_ROWS = (
    JobPolicy(
        "random", "Random",
        "In order of arrival, each job to a cluster and P-state at random, as soon as it can start there.",
        "Machovec III.D.1", "at-random", all_pstates=True,
    ),
    JobPolicy(
        "conservative", "Conservative Backfilling",
        "In order of arrival; every job that cannot start at once gets a reservation, which none that comes later "
        "may delay.",
        "Machovec III.D.2", "in-order", BY_ARRIVAL,
    ),
    JobPolicy(
        "easy", "EASY Backfilling",
        "In order of arrival; the first job that cannot start at once gets a reservation, and others start only where "
        "they do not delay it.",
        "Machovec III.D.3", "in-order", BY_ARRIVAL, reservations=1,
    ),
    JobPolicy(
        "fcfs-multiple-queues", "FCFS with Multiple Queues",
        "Conservative Backfilling from three queues by size, in turn: 1 large, 4 medium and 8 small jobs.",
        "Machovec III.D.4", "in-queues",
    ),
    JobPolicy(
        "fcfs", "FCFS",
        "In order of arrival; no job starts before one that arrived earlier.",
        "common practice", "in-order", BY_ARRIVAL, reservations=0, backfills=False,
    ),
    *(
        JobPolicy(
            name, title, f"{how}; one reservation, made again at every mapping event, and backfilling behind it.",
            source, "in-order", order, reservations=1, commitment="place-holders",
        )
        for name, title, how, source, order in (
            ("sjf", "Shortest Job First", "The job that is planned to run shortest goes first", "common practice",
             SHORTEST),
            ("largest-first", "Largest Job First", "The job of most planned core-seconds goes first",
             "common practice", LARGEST),
            ("wfp3", "WFP3", "The job goes first that has waited longest for its planned time, cubed, times its nodes",
             "Tang et al. 2009", WFP3),
            ("unicef", "UNICEF",
             "The job goes first that has waited longest for its planned time, times log2(1 + nodes)",
             "after Tang et al. 2009, who take log2(nodes)", UNICEF),
        )
    ),
    JobPolicy(
        "multifactor", "Multifactor Priority",
        "By weighted factors of age, of what its user has left of an equal share, of size and of its queue; one "
        "reservation, made again at every mapping event, and backfilling behind it.",
        "after Slurm's multifactor plugin", "in-order", multifactor(WEIGHTS), reservations=1,
        commitment="place-holders", is_weighted=True,
    ),
    *(
        JobPolicy(
            name, title, f"Repeatedly, the job that can earn the most {what} gets the nodes and P-state where it "
            "does.",
            "Machovec III.E", "greedy", objective=objective, commitment="place-holders", all_pstates=True,
        )
        for name, title, what, objective in (
            ("max-util", "Max Util", "utility", UTILITY),
            ("max-upt", "Max UPT", "utility per second of execution", PER_TIME),
            ("max-upr", "Max UPR", "utility per core-second", PER_RESOURCE),
            ("max-upe", "Max UPE", "utility per joule", PER_ENERGY),
        )
    ),
    JobPolicy(
        "prices", "Prices",
        "Repeatedly, the job that earns most after paying for its node-seconds and joules gets nodes, as long as "
        "one earns more than it pays; prices follow what runs short: nodes of a cluster, and the budget.",
        "Joulewise", "greedy", objective=UTILITY, commitment="place-holders", all_pstates=True, is_priced=True,
        declines=True,
    ),
)  # fmt: skip

JOB_POLICIES = {policy.name: policy for policy in _ROWS}

BY_HAND = JobPolicy(
    "by-hand", "By hand", "Whoever steps through the events starts the jobs.", "Joulewise", "assigned",
    commitment="place-holders", all_pstates=True,
)  # fmt: skip
"""The policy of a session, which is asked for nothing."""
