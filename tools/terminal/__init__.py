"""What commands print and ask at a terminal: tables, JSON, progress, questions, keys."""
