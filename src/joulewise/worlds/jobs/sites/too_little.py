"""Why jobs fit nowhere on a site: of what there is too little, and how much there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from joulewise.model.kept import FOR_ALL
from joulewise.model.site import ANY_NUMBER, Site
from joulewise.units import noun
from joulewise.worlds.jobs.sites.ground import OF_A_GPU
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB

_MIB_OF_A_GIB = 1024


class Asking(Protocol):
    """What a class of jobs asks for: units, and by group what a piece takes, None where nodes lack what has a name."""

    @property
    def units(self) -> int: ...
    @property
    def most(self) -> int: ...
    @property
    def need(self) -> Sequence[Sequence[int]]: ...
    @property
    def gives(self) -> Sequence[int]: ...
    @property
    def pieces(self) -> Sequence[Sequence[int] | None]: ...


def too_little(site: Site, partition: int, asking: Asking, licences: Sequence[int], kept: int = FOR_ALL) -> str:
    """Why a class of jobs fits nowhere in its partition, or among what is kept for it; "" where it does."""
    name = f"partition {site.partitions[partition]}"
    told = {g: np.array(piece) for g, piece in enumerate(asking.pieces) if piece is not None}
    pieces = {g: piece for g, piece in told.items() if site.in_partition[partition, g]}
    if not pieces:
        return f"{name} has no nodes with the features or GPUs that they ask for"
    for r, resource in enumerate(site.resources):
        most = int(site.capacity[list(pieces), r].max())
        if min(piece[r] for piece in pieces.values()) > most:
            return f"{name} has {amount_of(resource, most)} on a node at most"
    has_room = any((piece <= site.capacity[g]).all() for g, piece in pieces.items())
    if has_room and kept != FOR_ALL and any(asking.gives) and _units_in_all(site, asking, kept) < asking.units:
        return f"reservation {site.kept.names[kept]} has too few nodes with all that they ask for"
    if not has_room or (any(asking.gives) and _units_in_all(site, asking) < asking.units):
        return f"{name} has too few nodes with all that they ask for"
    lacking = next((i for i, n in enumerate(licences) if n > site.n_licences[i]), None)
    return "" if lacking is None else f"there are {site.n_licences[lacking]:,} licences {site.licences[lacking]}"


def _units_in_all(site: Site, asking: Asking, kept: int = FOR_ALL) -> int:
    """The units that all nodes give where nothing runs, or those that are kept."""
    need, gives = np.array(asking.need), np.array(asking.gives)
    room = np.where(need > 0, site.capacity // np.maximum(need, 1), ANY_NUMBER).min(axis=1)
    on_node = np.where(site.is_counted, 1, np.minimum(room, asking.most))
    n_nodes = site.kept.nodes_for(np.array([kept]), site.n_nodes)[0]
    return int((n_nodes * on_node * gives).sum())


def amount_of(resource: str, n: int) -> str:
    """So much of a resource, in words."""
    if resource == MEMORY_MIB:
        return f"{n / _MIB_OF_A_GIB:,.4g} GiB of memory"
    if resource.startswith(CORES):
        return f"{n:,} {resource.replace(CORES, 'processors', 1)}"
    kind = "" if resource == GPUS else f" {resource}"
    return f"{n // OF_A_GPU:,}{kind} {noun(n // OF_A_GPU, 'GPU')}"
