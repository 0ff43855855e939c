"""Made-up metrics on which every claim of the catalogue is true, by experiment and run.

A function for each experiment gives the metrics of a run from its settings. The numbers mean nothing beyond that:
they are the published ones where one is claimed, and in the claimed order else.
"""

from tests.strategies.claims import Table
from tests.strategies.true_assignments import ASSIGNMENTS
from tests.strategies.true_bags import BAGS
from tests.strategies.true_facilities import FACILITIES
from tests.strategies.true_jobs import JOBS
from tests.strategies.true_outlook import OUTLOOK
from tests.strategies.true_tasks import TASKS

TRUE: dict[str, Table] = {**TASKS, **ASSIGNMENTS, **BAGS, **JOBS, **FACILITIES, **OUTLOOK}
