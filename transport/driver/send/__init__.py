"""The sender, its endpoints, and network publications with their spies."""
