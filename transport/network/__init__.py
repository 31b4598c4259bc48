"""Datagram networks, without any part of a driver: ports, addresses, names and rehearsed loss."""
