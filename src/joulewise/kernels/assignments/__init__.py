"""Compiled code for tasks known in advance, certain or stochastic."""
