"""Clients of driver and archive as the options of a command ask for them."""
