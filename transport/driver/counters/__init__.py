"""The counters that a driver allocates for itself, its streams and its endpoints."""
