"""A module a revision; released ones do not change any more."""
