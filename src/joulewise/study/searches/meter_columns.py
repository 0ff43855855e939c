"""Columns of what the meter of tasks and of jobs shows beside the energy: peak, cost and budget."""

from __future__ import annotations

from joulewise.study.spec.column import amount, metric

METER_COLUMNS = (
    metric(
        "energy_peak_w", "W", "highest power at the meter at any instant of the counted window",
        heading="highest power",
    ),
    metric(
        "energy_cost", "", "energy x tariff of its hour, in the tariff's unit; null without a tariff",
        title="cost", form=amount, rank=65, heading="cost of energy",
    ),
    metric(
        "budget_j", "J", "energy budget of all days of the counted window together; null without one",
        heading="energy budget",
    ),
    metric("budget_percent", "%", "100 x energy_j / budget_j", heading="energy (% of the budget)"),
    metric(
        "exhausted_s", "s",
        "instant at which the first counted day had used 99 % of its energy budget; null if it never had",
        heading="energy used up at",
    ),
)  # fmt: skip
