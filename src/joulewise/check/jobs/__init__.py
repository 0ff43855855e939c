"""The independent validator of parallel jobs on clusters."""
