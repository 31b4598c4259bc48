"""``aerolog cluster``: the folder of a node, and the node that runs there, in tables."""
