"""Everything of one run of parallel jobs in one record, so that steps of the event loop take one argument for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jobs.energy import JobLedger, JobLimits
from joulewise.kernels.jobs.greedy import GreedyRules
from joulewise.kernels.jobs.layout import JobFacts, JobPlan
from joulewise.kernels.jobs.live_prices import JobPrices
from joulewise.kernels.jobs.orders import Standings, Usage
from joulewise.kernels.jobs.outages import Broken, NodeOutages
from joulewise.kernels.jobs.pool import JobPool
from joulewise.kernels.jobs.raising import Raising
from joulewise.kernels.jobs.state import JobRules, JobSite
from joulewise.kernels.jobs.timetable import Book
from joulewise.kernels.records import record


@record
class JobState(NamedTuple):
    """What is given: facts, rules and limits; and what changes: the ledger, books, places of jobs and the plan.

    `trial` is a book of the same shape for the greedy to work in. `priority` and `value` are compiled functions,
    `draws` the state of a random stream, and from `until_s` on nothing is known of the cap but its lowest hour.
    """

    facts: JobFacts
    rules: JobRules
    greed: GreedyRules
    limits: JobLimits
    ledger: JobLedger
    book: Book
    trial: Book
    site: JobSite
    plan: JobPlan
    pool: JobPool
    usage: Usage
    standings: Standings
    outages: NodeOutages
    broken: Broken
    raising: Raising
    prices: JobPrices
    priority: Any
    value: Any
    draws: NDArray[np.uint64]
    until_s: float
