"""How objects show themselves: key figures, tables, and figures by the code of reports."""
