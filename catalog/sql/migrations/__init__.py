"""Alembic's scripts for the catalog's tables; `aerolog.catalog.sql.migrating` runs them."""
