"""A Wireshark dissector in Lua, made from the tables of the archive protocol and of the frames."""
