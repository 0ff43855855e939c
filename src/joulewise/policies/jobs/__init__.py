"""Policies for parallel jobs on clusters."""
