"""Doubles of the doors to the world, for aerolog's tests and its users': clock and disk."""
