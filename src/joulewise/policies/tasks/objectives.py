"""The objectives of the published heuristics; each is compiled as it stands."""

from __future__ import annotations

from joulewise.policies.tasks.policy import Objective


def _utility(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility


def _utility_per_time(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility / exec_s


def _utility_per_energy(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility / energy_j


def _utility_per_power(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility * exec_s / energy_j


def _soonest(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return -completion_s


UTILITY = Objective(_utility, falls_with_time=True)
UTILITY_PER_TIME = Objective(_utility_per_time, falls_with_time=True)
UTILITY_PER_ENERGY = Objective(_utility_per_energy, falls_with_time=True)
UTILITY_PER_POWER = Objective(_utility_per_power, falls_with_time=True)
LOSS_PER_TIME = Objective(_utility_per_time, falls_with_time=True, urgency=1.0)
URGENT_UTILITY_PER_TIME = Objective(_utility_per_time, falls_with_time=True, urgency=0.5)
PATIENT_UTILITY_PER_TIME = Objective(_utility_per_time, falls_with_time=True, is_patient=True)
SOONEST = Objective(_soonest, falls_with_time=True, by_type=True)
