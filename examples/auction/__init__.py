"""An auction house as a replicated service: its service, its client, and a demonstration.

``python -m examples.auction`` starts a node of a cluster, bids, kills the node with ``kill -9``,
starts it again and shows that nothing was lost.
"""
