"""Rigs: see ``archive_rig``."""

from archive_rig import make_rig, rig

__all__ = ["make_rig", "rig"]  # fixtures
