"""Figures and pages of serial tasks under a manager."""
