"""Environments of Gymnasium: days of work, to be scheduled by whoever learns.

`import joulewise.gym` makes them known, and so does a name like "joulewise.gym:joulewise/Tasks-v0".
"""

import gymnasium

TASKS = "joulewise/Tasks-v0"

gymnasium.register(TASKS, entry_point="joulewise.gym.tasks.env:Tasks")
