"""What the nodes of a site draw, and jobs on top of that, by the group of nodes where they run."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.site import Demands, Places, Site


def pieces_w(site: Site, demands: Demands) -> Floats:
    """What a piece of each class draws in each group on top of idle nodes: of whole nodes, all that these have."""
    assert site.power is not None
    amounts = np.where(site.is_counted[None, :, None], site.capacity, demands.need)
    return np.asarray((amounts * site.power.more_w).sum(axis=2))


def least_w(site: Site, demands: Demands) -> Floats:
    """What a job of each class draws at least on top of idle nodes; infinite for one that may run nowhere.

    That is what it does draw where all groups that it may use are alike to it.
    """
    may, by_piece = demands.gives > 0, pieces_w(site, demands)
    gives, units = np.maximum(demands.gives, 1), demands.units[:, None]
    most, least = (_over(may, values) for values in ((by_piece, gives), (-by_piece, -gives)))
    alike = (most == -least).all(axis=0)[:, None]
    n_pieces = np.where(alike, -(-units // gives), units / gives)
    return np.asarray(np.where(may, by_piece * n_pieces, np.inf).min(axis=1, initial=np.inf))


def _over(may: Bools, values: tuple[Floats, Counts]) -> Floats:
    """The most of some values over the groups that each class may use."""
    return np.stack([np.where(may, column, -np.inf).max(axis=1, initial=-np.inf) for column in values])


def drawn_w(site: Site, demands: Demands, places: Places, used: Counts, n_lost: int) -> Floats:
    """What each stretch of running drew: the last ones of jobs that had nodes, then those that were lost."""
    last = np.searchsorted(used, places.job)
    stretch = places.stretch_of
    row = np.where(stretch < 0, last, used.size + stretch)
    power_w = pieces_w(site, demands)[demands.of_job[places.job], places.group] * places.pieces
    return np.asarray(np.bincount(row, power_w, used.size + n_lost), np.float64)
