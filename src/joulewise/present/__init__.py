"""Figures and the report page, made from a study's records alone.

Altair and vl-convert are imported when the first figure is drawn, not with this package.
"""

from __future__ import annotations

from joulewise.present.export import FORMATS
from joulewise.present.records import Records, StudyInfo

__all__ = ["FORMATS", "Records", "StudyInfo"]
