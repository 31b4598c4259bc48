"""``aerolog doctor``: what is wrong with a driver and an archive, or will be, and what to do."""
