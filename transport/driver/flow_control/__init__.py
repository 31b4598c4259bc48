"""Flow control: the strategies that limit how far a sender may send, and their choice."""
