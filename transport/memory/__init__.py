"""Data structures that live in shared memory, each in one module that states its layout."""
