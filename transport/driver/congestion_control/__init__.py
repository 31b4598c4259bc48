"""Congestion control: the receiver window of an image, its strategies and who chooses one."""
