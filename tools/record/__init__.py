"""``aerolog record``: recordings of a stream from start to stop."""
