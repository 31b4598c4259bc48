"""What a driver owns of the network: endpoints, publications, images and their decisions."""
