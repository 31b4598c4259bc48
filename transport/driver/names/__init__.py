"""Host names: the resolver, look-ups that stall nobody, and the gossip between drivers."""
