"""Figures and the report page, made from a study's records alone.

Altair and vl-convert are imported when the first figure is drawn, not with this package.
"""
