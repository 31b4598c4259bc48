"""Alembic's scripts for the catalog's tables; `aerolog.catalog.index.migration` runs them."""
