"""Compiled code for serial tasks under a manager."""
