"""Figures and pages of parallel jobs on clusters."""
