"""What makes worlds of serial tasks under a manager."""
