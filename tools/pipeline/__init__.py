"""``aerolog pipeline``: jobs that load recordings into tables."""
