"""The transport: shared-memory structures, media driver and client of Aeron."""
