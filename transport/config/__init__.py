"""Properties and their sources; the one parser for sizes, durations and numbers."""
