"""How policies stand in the arena: tables, figures and the page."""
