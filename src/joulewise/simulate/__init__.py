"""Time: what becomes of work when a manager, a scheduler or a dispatcher decides."""
