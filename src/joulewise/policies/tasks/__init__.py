"""Policies for serial tasks under a manager."""
