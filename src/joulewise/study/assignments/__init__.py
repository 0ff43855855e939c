"""Studies of tasks known in advance, certain or stochastic."""
