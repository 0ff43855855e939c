"""Environments of Gymnasium: days of work, to be scheduled by whoever learns.

`import joulewise.gym` makes them known, and so does a name like "joulewise.gym:joulewise/Tasks-v0".
"""

import gymnasium

TASKS = "joulewise/Tasks-v0"
JOBS = "joulewise/Jobs-v0"

gymnasium.register(TASKS, entry_point="joulewise.gym.tasks.env:Tasks")
"""Days of serial tasks as an environment."""

gymnasium.register(JOBS, entry_point="joulewise.gym.jobs.env:Jobs")
"""Days of parallel jobs as an environment."""
