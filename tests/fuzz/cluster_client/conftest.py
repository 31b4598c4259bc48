"""What members say, by a script, to a client in this process."""

from cluster_script import aeron, session

__all__ = ["aeron", "session"]
