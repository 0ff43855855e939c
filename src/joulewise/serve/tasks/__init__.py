"""The pages of studies of serial tasks."""
