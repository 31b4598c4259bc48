"""The parameters of channels of publications, subscriptions and destinations, and their checks."""
