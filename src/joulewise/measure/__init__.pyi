"""The co-location laboratory: real programs alone and together, at each clock."""

from joulewise.measure.analysis.analysis import Analysis, analyse
from joulewise.measure.analysis.colocation_data import colocation_observations
from joulewise.measure.analysis.export import tables_of, write_tables
from joulewise.measure.bench.laboratory import measure
from joulewise.measure.bench.setting import opened as open_setting
from joulewise.measure.bench.store import LaboratoryStore as Store
from joulewise.measure.machine.survey import survey
from joulewise.measure.plan.file import read_plan
from joulewise.measure.plan.plan import Plan

__all__ = [
    "Analysis",
    "Plan",
    "Store",
    "analyse",
    "colocation_observations",
    "measure",
    "open_setting",
    "read_plan",
    "survey",
    "tables_of",
    "write_tables",
]
