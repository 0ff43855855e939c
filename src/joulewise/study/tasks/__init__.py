"""Studies of serial tasks under a manager."""
