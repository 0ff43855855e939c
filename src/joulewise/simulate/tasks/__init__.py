"""Time for serial tasks under a manager."""
