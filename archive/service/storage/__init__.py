"""Requests that change what is stored: segments that are migrated, cut and deleted."""
