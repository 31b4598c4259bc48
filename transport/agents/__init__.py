"""What a process of agents consists of, be it a driver, an archive or a node of a cluster."""
