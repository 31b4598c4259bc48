"""``aerolog cluster-tool``: what a cluster's folder holds, and putting it right, offline.

``cluster_actions`` is the table of all commands. The archive tool's frame runs them, with tables or
JSON; ``classic_cluster_tool`` with the output and exit codes of the reference's ClusterTool.
"""
