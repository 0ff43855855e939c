"""Compiled code for parallel jobs on clusters."""
