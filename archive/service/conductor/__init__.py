"""The archive's conductor: control sessions, their requests and the answers."""
