"""The steps of clients: carry them out, add streams, connect, back off."""
