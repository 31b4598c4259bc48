"""``aerolog bench``: the benchmarks of a checkout."""
