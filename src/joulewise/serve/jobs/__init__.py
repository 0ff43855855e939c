"""The pages of studies of parallel jobs."""
