"""Studies of parallel jobs on clusters."""
