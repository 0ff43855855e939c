"""Studies: a TOML file in, runs over processes, a store of Parquet tables, statistics out."""

from joulewise.progress import Cancelled, CancelToken, Progress
from joulewise.study.answers.query import query
from joulewise.study.answers.results import Results, open_results
from joulewise.study.parsing.study import Study, parse_study, read_study
from joulewise.study.running.planning import plan
from joulewise.study.running.running import run_study
from joulewise.study.spec.run import Run
from joulewise.study.verifying.verification import Verdict, Verification, to_verify, verify

__all__ = [
    "CancelToken",
    "Cancelled",
    "Progress",
    "Results",
    "Run",
    "Study",
    "Verdict",
    "Verification",
    "open_results",
    "parse_study",
    "plan",
    "query",
    "read_study",
    "run_study",
    "to_verify",
    "verify",
]
