"""What stat, errors, loss, streams, backlog and driver-tool print."""
