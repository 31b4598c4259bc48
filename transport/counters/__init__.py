"""What counters are: their types, labels, keys and meanings, each in one table."""
