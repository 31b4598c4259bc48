"""The conductor's room: control sessions, their requests and answers."""
