"""Files of an archive folder: catalog, segments, mark file (spec archive-files 1)."""
