"""``aerolog cluster-tool``: the reference's ClusterTool.

``commands`` is the table of all commands, ``cluster_tool`` reads the arguments and runs one.
"""
