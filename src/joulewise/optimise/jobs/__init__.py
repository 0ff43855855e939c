"""Search with proof for parallel jobs on clusters."""
