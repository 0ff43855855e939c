"""Search with proof for bags of tasks that are all there at once."""
