"""What the channels of publications, subscriptions and destinations may ask for."""
