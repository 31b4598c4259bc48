"""Side-by-side measurements against peers; they run from a checkout, not from the package."""

from benchmarks.runner import main

__all__ = ["main"]
