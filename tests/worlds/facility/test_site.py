"""Generated facilities: the published sizes and figures, what trials vary, and the cap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.facility import Facility
from joulewise.worlds.facility.site import (
    BENCHMARKS,
    SIZES,
    FacilitySize,
    FlowParameters,
    SiteParameters,
    clock_factor,
    facility_of,
    full_power_w,
    generate_facility,
    generate_flows,
    generate_site,
    sized,
)
from joulewise.worlds.facility.site_tables import SiteTables


def small(seed: int = 1, trial: int = 0, **flows: float) -> Facility:
    parameters = sized("small")
    return generate_facility(replace(parameters, flows=replace(parameters.flows, **flows)), seed, trial)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_the_published_platforms(size: str) -> None:
    facility = generate_facility(sized(size), 0, 0)
    found = facility.n_nodes, facility.room.n_cracs, facility.node_types.n_types, facility.tasks.n_types
    assert found == SIZES[size]
    assert np.bincount(facility.node_type).min() > 0.8 * facility.n_nodes / found[2]
    usable, runs = facility.tasks.is_usable, facility.tasks.speed_per_s > 0
    assert usable.any(axis=(1, 2)).all()
    assert usable.sum() < runs.sum()
    assert 1.5 * facility.overhead_w.sum() < full_power_w(facility)


def test_powers_and_speeds_by_p_state_follow_the_paper() -> None:
    facility = generate_facility(sized("large"), 0, 0)
    flows, names = facility.tasks, list(facility.tasks.names)
    povray, lbm = names.index("povray"), names.index("lbm")
    assert flows.power_w[povray, :, 0] == pytest.approx([9.1, 20.9, 22.4, 18.55])
    slowest = facility.node_types.n_pstates - 1
    speed = flows.speed_per_s[:, np.arange(4), slowest] / flows.speed_per_s[:, :, 0]
    assert speed[povray] == pytest.approx([0.64, 0.65, 0.55, 0.48])
    assert speed[lbm] == pytest.approx(1 / (1 + 0.3 * (1 / speed[povray] - 1)))
    assert clock_factor(np.array([[0.5]]), np.array([1.0]))[0, 0, 0] == pytest.approx(1 / 1.3)
    classes = dict(zip(names, (flows.class_names[c] for c in flows.memory_class), strict=True))
    assert {name for name, of in classes.items() if of == "heavy"} == {
        "lbm", "bwaves", "milc", "leslie3d", "soplex", "GemsFDTD"
    }  # fmt: skip
    assert {name for name, of in classes.items() if of == "light"} == {
        "calculix", "tonto", "povray", "gromacs", "namd"
    }  # fmt: skip


def test_trials_vary_in_speeds_rewards_deadlines_and_rates_only() -> None:
    one, same, other = small(), small(), small(trial=1)
    for name in ("speed_per_s", "reward", "deadline_s", "rate_per_s"):
        values = [getattr(facility.tasks, name) for facility in (one, same, other)]
        assert np.array_equal(values[0], values[1])
        assert not np.isclose(values[0], values[2])[values[0] > 0].any()
    assert np.array_equal(one.node_type, other.node_type)
    assert np.array_equal(one.room.flow.share, other.room.flow.share)
    assert one.cap_w == pytest.approx(other.cap_w)
    assert not np.array_equal(one.node_type, small(seed=2).node_type)
    anew = SiteParameters(same_site=False)
    assert not np.array_equal(generate_site(anew, 1, 0).node_type, generate_site(anew, 1, 1).node_type)


def test_arrivals_are_about_what_the_cores_can_do() -> None:
    facility = small()
    flows, cores = facility.tasks, facility.node_types.cores[facility.node_type]
    fastest = flows.speed_per_s[:, facility.node_type, 0] @ cores
    assert ((flows.rate_per_s * flows.n_types / fastest >= 0.8) & (flows.rate_per_s * 8 / fastest <= 1.2)).all()
    assert ((flows.reward >= 0.5) & (flows.reward <= 1)).all()


def test_without_heterogeneity_all_task_types_have_one_ratio_of_speeds() -> None:
    def ratios(heterogeneity: float) -> np.ndarray:
        speed = small(heterogeneity=heterogeneity).tasks.speed_per_s[:, :, 0]
        return np.asarray(speed[:, 0] / speed[:, 1])

    assert ratios(0.0) == pytest.approx(31.5 / 15.6)
    spread = [float(np.log(ratios(degree)).std()) for degree in (0.5, 1.0, 2.0)]
    assert spread == pytest.approx([spread[0], 2 * spread[0], 4 * spread[0]])


def test_the_cap_is_a_share_of_full_power_at_the_hottest_supply() -> None:
    facility = small()
    room, air = facility.room, Air(facility.room)
    node_w = (facility.overhead_w + np.array([36.4, 41.8])[facility.node_type]).astype(float)
    hottest_c = max(
        supply_c
        for supply_c in np.arange(10, 25.0001, 0.01)
        if (air.inlets_c(node_w, np.full(3, supply_c))[0] <= room.redline_c + 1e-9).all()
    )
    cooling_w = node_w.sum() / room.cop[0](hottest_c)
    assert facility.cap_w == pytest.approx(0.6 * (node_w.sum() + cooling_w), rel=1e-3)
    site = generate_site(SiteParameters(), 1, 0)
    assert facility_of(site, facility.tasks, 9000.0).cap_w == 9000.0


def test_any_size() -> None:
    facility = generate_facility(sized(FacilitySize(17, 2, 3, 5)), 3, 0)
    assert (facility.n_nodes, facility.tasks.n_types) == (17, 5)
    assert len(BENCHMARKS) == 16


@pytest.mark.parametrize(
    ("of", "values", "message"),
    [
        (SiteParameters, {"nodes": 2}, "system.nodes: found 2; must be from cracs, 3"),
        (SiteParameters, {"node_types": 5}, "system.node_types: found 5; must be from 1 to 4"),
        (SiteParameters, {"cap_share": 0.0, "cracs": 0}, "cap_share: found 0.0(.|\n)*cracs: found 0"),
        (SiteParameters, {"cap_share": 60.0}, "cap_share: found 60.0; must be a share above 0, 2 at most: 0.6 is 60 %"),
        (
            SiteTables,
            {"node_list": "", "crac_list": "", "heat": "", "cap_share": 80.0},
            "cap_share: found 80.0; .* 60 %",
        ),
        (FlowParameters, {"task_types": 17}, "workload.task_types: found 17; must be from 1 to 16"),
        (FlowParameters, {"deadline": (0.9, 2.0)}, "workload.deadline: found"),
        (FlowParameters, {"heterogeneity": -1.0}, "workload.heterogeneity: found -1.0"),
    ],
)
def test_parameters_out_of_range(of: type, values: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        of(**values)


def test_node_types_of_unknown_speed_cannot_have_generated_flows() -> None:
    site = generate_site(SiteParameters(), 1, 0)
    unknown = replace(site, ratio_per_core=np.array([np.nan, 15.6]))
    with pytest.raises(InputError, match="Fujitsu TX140: found no core_w, least_clock or ratio_per_core"):
        generate_flows(FlowParameters(), unknown, 1, 0)
