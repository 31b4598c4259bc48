"""Layouts of frames in a log, of clients' commands and of the driver's answers."""
