"""Compiled code for bags of tasks that are all there at once."""
