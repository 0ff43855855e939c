"""The independent validator of tasks known in advance, certain or stochastic."""
