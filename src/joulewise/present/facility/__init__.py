"""Figures and pages of nodes in a room with its air and cooling."""
