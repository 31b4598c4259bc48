"""Flow control: how far a sender may go, its strategies and who chooses one."""
