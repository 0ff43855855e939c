"""What makes worlds of tasks known in advance, certain or stochastic."""
