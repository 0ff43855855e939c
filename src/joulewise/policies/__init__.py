"""How a manager decides: tables of policies, their objectives, and the door for a user's own."""

from joulewise.policies.heuristic import find_policy, heuristic, is_file_spec
from joulewise.policies.policy import Objective, Policy
from joulewise.policies.table import POLICIES

__all__ = ["POLICIES", "Objective", "Policy", "find_policy", "heuristic", "is_file_spec"]
