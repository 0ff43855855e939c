"""Bags of tasks that are all there at once: fronts of makespan and energy, profit, what-if."""

from joulewise.check.bags.allocation import certified_front
from joulewise.check.bags.allocation import check_bag as check
from joulewise.model.bag import Bag
from joulewise.model.bag import BagAllocation as Allocation
from joulewise.model.system import System
from joulewise.optimise.bags.annealing import BagFront as SearchedFront
from joulewise.optimise.bags.annealing import improve
from joulewise.optimise.bags.bound import BoundFront, BoundPoint, bound_at, bound_front, region
from joulewise.optimise.bags.machines import MachineAnalysis, WhatIf, analyse, what_if
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.problem import BagProblem as FrontProblem
from joulewise.optimise.bags.profit import Profit, ProfitSweep, most_profit, price_at_ratio, profit_sweep
from joulewise.optimise.bags.recovery import recover, recovered
from joulewise.optimise.bags.seeds import min_energy, min_min_completion_time
from joulewise.optimise.evolution import Evolution, evolve
from joulewise.optimise.front import Front, front_of
from joulewise.optimise.islands import Archipelago, evolve_islands
from joulewise.optimise.population import Population
from joulewise.optimise.ways import Ways
from joulewise.worlds.bags.bag import BagParameters as Parameters
from joulewise.worlds.bags.bag import BagTable as Table
from joulewise.worlds.bags.bag import generate_bag as generate
from joulewise.worlds.bags.bag import read_bag as read
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.system_tables import SystemTables, read_system

__all__ = [
    "Allocation",
    "Archipelago",
    "Bag",
    "BoundFront",
    "BoundPoint",
    "CovSystemParameters",
    "Evolution",
    "Front",
    "FrontProblem",
    "MachineAnalysis",
    "Market",
    "NineMachineParameters",
    "Parameters",
    "Population",
    "Profit",
    "ProfitSweep",
    "SearchedFront",
    "System",
    "SystemParameters",
    "SystemTables",
    "Table",
    "Ways",
    "WhatIf",
    "analyse",
    "bound_at",
    "bound_front",
    "certified_front",
    "check",
    "evolve",
    "evolve_islands",
    "front_of",
    "generate",
    "generate_cov_system",
    "generate_nine_machines",
    "generate_system",
    "improve",
    "min_energy",
    "min_min_completion_time",
    "most_profit",
    "price_at_ratio",
    "profit_sweep",
    "read",
    "read_system",
    "recover",
    "recovered",
    "region",
    "what_if",
]
