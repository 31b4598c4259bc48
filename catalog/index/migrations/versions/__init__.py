"""One module for each revision of the tables; released ones are never changed."""
