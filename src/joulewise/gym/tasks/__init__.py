"""Days of serial tasks as an environment."""
