"""Settings of all tests: hypothesis draws the same cases every time, and more of them when asked to.

`pytest --hypothesis-profile=thorough tests/simulate/tasks/test_twins.py` looks at thousands of new cases.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    max_examples=30,
    derandomize=True,
    deadline=None,  # no test judges a time
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=5000, derandomize=False)
settings.load_profile("suite")
