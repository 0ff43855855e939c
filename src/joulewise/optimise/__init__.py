"""Search with proof: bounds and, in time, linear programs and fronts."""

from joulewise.optimise.bounds import maximum_utility, utility_ceiling
from joulewise.optimise.job_bound import JobBound, certified_job_bound, job_bound, job_ceiling
from joulewise.optimise.price_market import Certificate, PriceBound
from joulewise.optimise.prices import certified_bound, price_bound
from joulewise.optimise.proof import BOUND_KINDS, BoundKind, Proof, prove

__all__ = [
    "BOUND_KINDS",
    "BoundKind",
    "Certificate",
    "JobBound",
    "PriceBound",
    "Proof",
    "certified_bound",
    "certified_job_bound",
    "job_bound",
    "job_ceiling",
    "maximum_utility",
    "price_bound",
    "prove",
    "utility_ceiling",
]
