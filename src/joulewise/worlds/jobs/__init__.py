"""What makes worlds of parallel jobs on clusters."""
