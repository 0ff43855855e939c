"""Tasks known in advance, certain or not: fronts of utility and energy."""

from joulewise.check.assignments.assignment import certified_utility_front as certified_front
from joulewise.check.assignments.assignment import check_assignment as check
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.optimise.assignments.annealing import search_front
from joulewise.optimise.assignments.bound import UtilityBound as Bound
from joulewise.optimise.assignments.bound import front_bound as bound_front
from joulewise.optimise.assignments.fuzzy import (
    FuzzyFront,
    fuzzy,
    least_variance_within,
    value_of_perfect_information,
    value_of_stochastic_solution,
)
from joulewise.optimise.assignments.problem import AssignmentProblem as FrontProblem
from joulewise.optimise.assignments.problem import allocation_of
from joulewise.optimise.assignments.stochastic import StochasticProblem
from joulewise.optimise.evolution import Evolution, evolve
from joulewise.optimise.front import Front, front_of
from joulewise.optimise.islands import Archipelago, evolve_islands
from joulewise.optimise.population import Population
from joulewise.optimise.ways import Ways
from joulewise.worlds.assignments.chances import ChanceParameters
from joulewise.worlds.assignments.chances import gamma_chances as generate_chances
from joulewise.worlds.assignments.known import KnownParameters as Parameters
from joulewise.worlds.assignments.known import generate_known as generate
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.system_tables import SystemTables, read_system

__all__ = [
    "Archipelago",
    "Assignment",
    "Bound",
    "ChanceParameters",
    "Chances",
    "CovSystemParameters",
    "Evolution",
    "Front",
    "FrontProblem",
    "FuzzyFront",
    "NineMachineParameters",
    "Parameters",
    "Population",
    "StochasticProblem",
    "Supply",
    "System",
    "SystemParameters",
    "SystemTables",
    "Ways",
    "Workload",
    "World",
    "allocation_of",
    "bound_front",
    "certified_front",
    "check",
    "evolve",
    "evolve_islands",
    "front_of",
    "fuzzy",
    "generate",
    "generate_chances",
    "generate_cov_system",
    "generate_nine_machines",
    "generate_system",
    "least_variance_within",
    "read_system",
    "search_front",
    "value_of_perfect_information",
    "value_of_stochastic_solution",
]
