"""Programs to start from: each does one thing, runs as it stands, and is a page long.

They expect an archiving driver on this machine: ``aerolog archiving-driver`` in another terminal.
"""
