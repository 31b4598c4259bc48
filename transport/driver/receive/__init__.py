"""The receiver, its endpoints, and network subscriptions with their images."""
