"""Figures and pages of tasks known in advance, certain or stochastic."""
