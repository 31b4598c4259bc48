"""``aerolog replay`` and ``aerolog tail``: recorded messages, printed or onto a channel."""
