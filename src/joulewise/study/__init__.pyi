"""Studies: a TOML file in, runs over processes, a store of Parquet tables, statistics out."""

from joulewise.progress import Cancelled, CancelToken, Progress
from joulewise.study.answers.comparison import Comparison, compare
from joulewise.study.answers.query import query
from joulewise.study.answers.results import Results, open_results
from joulewise.study.parsing.file import parse_study, read_study
from joulewise.study.parsing.study import Study
from joulewise.study.running.engines.dask import Dask
from joulewise.study.running.engines.profile import Profile, read_profile
from joulewise.study.running.engines.queued import Queued
from joulewise.study.running.planning import plan
from joulewise.study.running.running import run_study
from joulewise.study.spec.run import Run
from joulewise.study.verifying.verification import Verdict, Verification, to_verify, verify

__all__ = [
    "CancelToken",
    "Cancelled",
    "Comparison",
    "Dask",
    "Profile",
    "Progress",
    "Queued",
    "Results",
    "Run",
    "Study",
    "Verdict",
    "Verification",
    "compare",
    "open_results",
    "parse_study",
    "plan",
    "query",
    "read_profile",
    "read_study",
    "run_study",
    "to_verify",
    "verify",
]
