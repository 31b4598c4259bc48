"""Checks of the doctor: each module has one subject, its kinds of finding and what yields them."""
