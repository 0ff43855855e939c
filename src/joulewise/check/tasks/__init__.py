"""The independent validator of serial tasks under a manager."""
