"""``aerolog retention``: plans of what goes, carried out in a folder or by its archive."""
