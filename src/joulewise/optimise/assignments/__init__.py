"""Search with proof for tasks known in advance, certain or stochastic."""
