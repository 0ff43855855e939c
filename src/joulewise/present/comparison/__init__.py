"""Studies held against each other: what pages, figures and screens say of that."""
