"""Figures and pages of bags of tasks that are all there at once."""
