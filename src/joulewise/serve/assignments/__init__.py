"""The pages of studies of tasks that are known in advance."""
