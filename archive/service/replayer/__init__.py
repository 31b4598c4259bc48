"""The archive's replayer: replays, their readers, and the tokens that request them."""
