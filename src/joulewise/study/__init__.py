"""Studies: a TOML file in, runs over processes, a store of Parquet tables, statistics out."""

from joulewise.study.plan import Run, plan
from joulewise.study.results import Results, open_results
from joulewise.study.running import Progress, run_study
from joulewise.study.study import Study, parse_study, read_study
from joulewise.study.verify import Verdict, verify

__all__ = [
    "Progress", "Results", "Run", "Study", "Verdict",
    "open_results", "parse_study", "plan", "read_study", "run_study", "verify",
]  # fmt: skip
