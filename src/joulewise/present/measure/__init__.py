"""Figures and the report of the laboratory."""
