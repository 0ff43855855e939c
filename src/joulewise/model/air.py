"""The temperatures of a room as a linear map of the power of its nodes and the supply of its CRAC units."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from joulewise.model.arrays import Counts, Floats
from joulewise.model.room import AIR_J_PER_M3_K, Room

_TINY, _MOST_BETWEEN = 1e-9, 50


class Air:
    """The steady state of a room (Oxley III.D), with the temperatures eliminated.

    What a node takes in is A T_out, and T_out = T_in + heating x power, so that
    T_out = (I - A_nn)^-1 (heating x power + A_nc supply). One sparse factorisation serves every question, and that of
    the transpose those with many right sides: SuperLU solves for them much faster with the transpose of its factors.
    """

    def __init__(self, room: Room) -> None:
        n, flow = room.n_nodes, room.flow
        shares = csr_array((flow.share, flow.source, flow.start), shape=(flow.n_places, flow.n_places))
        self.room = room
        self.heating_k_per_w = 1.0 / (AIR_J_PER_M3_K * room.node_m3_per_s)
        self.crac_w_per_k = AIR_J_PER_M3_K * room.crac_m3_per_s
        self._nodes_from_cracs, self._cracs_from_nodes = shares[:n, n:], shares[n:, :n]
        self._cracs_from_cracs = shares[n:, n:]
        self._nodes_from_nodes = shares[:n, :n]
        kept = csc_array(eye_array(n) - self._nodes_from_nodes)
        self._factors, self._transposed = splu(kept), splu(csc_array(kept.T))

    def inlets_c(self, node_w: Floats, supply_c: Floats) -> tuple[Floats, Floats]:
        """What the nodes and the CRAC units take in."""
        heating_k = self.heating_k_per_w * node_w
        outlet_c = self._factors.solve(heating_k + self._nodes_from_cracs @ supply_c)
        return outlet_c - heating_k, self._cracs_from_nodes @ outlet_c + self._cracs_from_cracs @ supply_c

    def heat_w(self, node_w: Floats, supply_c: Floats) -> Floats:
        """The heat that each CRAC unit removes."""
        return np.asarray(self.crac_w_per_k * (self.inlets_c(node_w, supply_c)[1] - supply_c))

    @cached_property
    def heat_share(self) -> Floats:
        """[CRAC, node]: which share of a node's power each CRAC unit removes; columns add up to 1."""
        taken = (self._cracs_from_nodes * self.crac_w_per_k[:, None]).T.toarray()
        return np.ascontiguousarray((self._factors.solve(taken, trans="T") * self.heating_k_per_w[:, None]).T)

    @cached_property
    def exchange_w_per_k(self) -> Floats:
        """[CRAC, CRAC]: heat that a unit removes for each degree of another's supply; rows and columns add up to 0."""
        passed = self._cracs_from_nodes @ self.supply_share + self._cracs_from_cracs.toarray()
        return np.asarray(self.crac_w_per_k[:, None] * (passed - np.eye(self.room.n_cracs)))

    @cached_property
    def supply_share(self) -> Floats:
        """[node, CRAC]: by how much the inlet of a node rises with each unit's supply; rows add up to 1."""
        return np.asarray(self._transposed.solve(self._nodes_from_cracs.toarray(), trans="T"))

    def rise_k_per_w(self, nodes: Counts) -> Floats:
        """[asked node, node]: by how much the inlets of some nodes rise with the power of every node."""
        units = np.zeros((self.room.n_nodes, nodes.size))
        units[nodes, np.arange(nodes.size)] = 1.0
        rows = (self._factors.solve(units, trans="T") * self.heating_k_per_w[:, None]).T
        rows[np.arange(nodes.size), nodes] -= self.heating_k_per_w[nodes]
        return np.ascontiguousarray(rows)

    def near_rise_k_per_w(self, nodes: Counts) -> csr_array:
        """The same without what is tiny: where little air goes round, few nodes heat another.

        It is the series of what comes straight, by one node in between, by two, and so on, as long as that is short.
        """
        passed = reached = self._nodes_from_nodes[nodes]
        for _ in range(_MOST_BETWEEN):
            passed = csr_array(passed @ self._nodes_from_nodes)
            passed.data[passed.data < _TINY] = 0.0
            passed.eliminate_zeros()
            if passed.nnz == 0:
                return csr_array(reached * self.heating_k_per_w[None, :])
            reached = reached + passed
        return csr_array(self.rise_k_per_w(nodes))

    def rise_prices(self, price_per_k: Floats) -> Floats:
        """What a watt of each node costs where each degree at a node's inlet has a price."""
        return np.asarray(self.heating_k_per_w * (self._factors.solve(price_per_k, trans="T") - price_per_k))
