"""Days of parallel jobs, decided by an agent."""
