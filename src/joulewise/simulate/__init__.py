"""Time: what happens to work when a manager, a scheduler or a dispatcher decides."""
