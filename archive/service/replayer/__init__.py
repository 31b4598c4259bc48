"""The replayer's room: replays, their readers, and the tokens that ask for them."""
