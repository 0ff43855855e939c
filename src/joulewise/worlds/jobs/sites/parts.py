"""Whether the parts of mixed jobs could ever run together at a site, and of what there is too little if not."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Bools, Counts, Ints
from joulewise.model.conditions import ALONE
from joulewise.model.site import Demands, Site
from joulewise.worlds.jobs.sites.demands import NEVER_STARTED
from joulewise.worlds.jobs.sites.side_by_side import fit_side_by_side
from joulewise.worlds.jobs.sites.too_little import amount_of
from joulewise.worlds.jobs.trace_jobs import TraceFinding


def parts_that_fit(site: Site, demands: Demands, together: Ints, findings: list[TraceFinding]) -> Bools:
    """Which jobs could start with all of their parts, if nothing else ran; what is lacking is noted."""
    fits = demands.can_start(site)
    why: dict[str, int] = {}
    order = np.argsort(together, kind="stable")
    order = order[together[order] != ALONE]
    known: dict[tuple[int, ...], str] = {}
    for parts in np.split(order, np.flatnonzero(np.diff(together[order])) + 1) if order.size else ():
        kinds = tuple(demands.of_job[parts].tolist())
        if not fits[parts].all():
            reason, n = "another part of them fits nowhere", int(fits[parts].sum())
        else:
            reason = known.setdefault(kinds, _too_little(site, demands, np.array(kinds)))
            reason, n = reason or _past_limits(demands, parts), parts.size
        if reason:
            why[reason] = why.get(reason, 0) + n
            fits[parts] = False
    for reason, n in why.items():
        told = f"parts of mixed jobs that the site would never start together: {reason}"
        findings.append(TraceFinding(reason, n, told, NEVER_STARTED, "lost"))
    return fits


def _past_limits(demands: Demands, parts: Counts) -> str:
    """Of what parts have more together than a limit allows them; "" for nothing."""
    limits = demands.limits
    held = limits.binding[parts]
    for holder in np.unique(held[held >= 0]).tolist():
        uses = limits.uses[demands.of_job[parts[(held == holder).any(axis=1)]]].sum(axis=0)
        for w in np.flatnonzero(uses > limits.most[holder]).tolist():
            return f"a limit of {limits.names[holder]} does not allow their {limits.what[w]} together"
    return ""


def _too_little(site: Site, demands: Demands, kinds: Counts) -> str:
    """Of what parts of these classes need more than all nodes have on which any of them may run; "" for nothing."""
    may = demands.gives[kinds] > 0
    n_pieces = -(-demands.units[kinds][:, None] // np.maximum(demands.gives[kinds], 1))
    takes = np.where(site.is_counted[:, None], site.capacity, demands.need[kinds]) * n_pieces[:, :, None]
    least = np.where(may[:, :, None], takes, np.iinfo(np.int64).max).min(axis=1).sum(axis=0)
    usable = may.any(axis=0)
    has = (site.n_nodes[usable, None] * site.capacity[usable]).sum(axis=0)
    for r in np.flatnonzero(least > has).tolist():
        resource = site.resources[r]
        needed, there = amount_of(resource, int(least[r])), amount_of(resource, int(has[r]))
        return f"they need {needed} together, and their nodes have {there}"
    licences = demands.licences[kinds].sum(axis=0)
    for i in np.flatnonzero(licences > site.n_licences).tolist():
        return f"they need {licences[i]:,} licences {site.licences[i]} together, and there are {site.n_licences[i]:,}"
    if fit_side_by_side(site, demands, kinds.tolist()):
        return ""
    return "in whatever order they are given their nodes, one of them finds too few beside the others"
