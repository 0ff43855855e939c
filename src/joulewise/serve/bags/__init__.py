"""The pages of studies of bags of tasks."""
