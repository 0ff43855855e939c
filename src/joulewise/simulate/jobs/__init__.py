"""Time for parallel jobs on clusters."""
