"""The recorder's room: recordings, their sessions and writers, and the segment files they fill."""
