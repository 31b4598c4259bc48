"""``aerolog recordings``: what an archive has, and changes of it."""
