"""Search with proof for serial tasks under a manager."""
