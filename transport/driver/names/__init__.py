"""Host names: resolvers, look-ups that do not stall the conductor, and gossip between drivers."""
