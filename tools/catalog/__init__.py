"""``aerolog catalog``: the SQL catalog of recordings."""
