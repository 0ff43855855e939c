"""Stored results computed again and judged."""
