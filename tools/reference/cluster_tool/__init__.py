"""``aerolog cluster-tool``: the reference's ClusterTool.

``cluster_tool_table`` has its commands; ``cluster_tool`` reads the arguments and runs one.
"""
