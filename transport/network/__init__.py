"""Datagrams, and nothing of drivers: the datagram port, wire frames, loss on demand."""
