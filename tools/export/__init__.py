"""``aerolog export``: recordings as Parquet."""
