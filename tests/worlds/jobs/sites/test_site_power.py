"""What the nodes of a site draw, from its file to the jobs."""

from __future__ import annotations

import numpy as np

from joulewise.model.site import Demands, no_limits
from joulewise.model.site_power import least_w, pieces_w
from joulewise.worlds.jobs.sites.ground import site_of
from joulewise.worlds.jobs.sites.site_file import parse_site

SITE = """
name = "oak"

[[nodes]]
name = "cpu"
count = 3
cores = 8
idle_power = "100 W"
core_power = "5 W"

[[nodes]]
name = "gpu"
count = 2
cores = 8
gpus = {a100 = 2}
idle_power = "0.2 kW"
core_power = "6 W"
gpu_power = "300 W"

[[nodes]]
name = "wide"
count = 4
cores = 16
idle_power = "50 W"
core_power = "2 W"

[[partition]]
name = "batch"
nodes = ["cpu", "gpu"]
default = true

[[partition]]
name = "wide"
nodes = "wide"
sharing = "exclusive"
"""


def test_powers_are_those_of_what_jobs_take() -> None:
    site = site_of(parse_site(SITE, "site.toml"))
    assert site.resources == ("cores", "memory_mib", "gpus")
    assert site.idle_w == 3 * 100 + 2 * 200 + 4 * 50
    need = np.zeros((3, 3, 3), np.int64)
    need[0, :2] = (2, 1, 0)  # two processors
    need[1, 1] = (1, 0, 500)  # a processor and half a GPU
    need[2, 2] = (1, 0, 0)  # a whole node, however little of it is used
    gives = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    demands = Demands(
        np.arange(3, dtype=np.int32), np.array([0, 0, 1]), np.array([3, 2, 4]), np.array([9, 9, 1]), need, gives,
        np.empty((3, 0), np.int64), no_limits(3, 3),
    )  # fmt: skip
    watts = pieces_w(site, demands)
    assert (watts[0, 0], watts[0, 1], watts[1, 1], watts[2, 2]) == (10, 12, 6 + 150, 32)
    assert least_w(site, demands).tolist() == [30, 2 * 156, 4 * 32]


def test_without_powers_in_the_file_none_is_known() -> None:
    lines = [line for line in SITE.splitlines() if "_power" not in line]
    assert site_of(parse_site("\n".join(lines), "site.toml")).power is None
