"""A package that brings a system of its own to Joulewise: people who queue at a counter."""
