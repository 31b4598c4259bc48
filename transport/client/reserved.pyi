"""Reserved values of frames; native callers only."""
