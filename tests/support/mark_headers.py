"""Headers of mark files, as archives and consensus modules write them, for folders of tests."""

from typing import Any

from aerolog.archive.protocol.mark_header import MarkFileHeader as ArchiveHeader
from aerolog.cluster.protocol import ClusterComponentType
from aerolog.cluster.protocol import MarkFileHeader as ClusterHeader


def archive_header(**values: Any) -> ArchiveHeader:
    """The header of an archive's mark file with some values; the others are usual ones."""
    usual: dict[str, Any] = {
        "start_timestamp": 1,
        "pid": 1,
        "control_stream_id": 10,
        "local_control_stream_id": 11,
        "events_stream_id": 30,
        "archive_id": 1,
        "control_channel": "aeron:udp?endpoint=localhost:8010",
        "local_control_channel": "aeron:ipc",
        "events_channel": "",
        "aeron_directory": "/aeron",
    }
    return ArchiveHeader(**usual | values)


def cluster_header(**values: Any) -> ClusterHeader:
    """The header of a consensus module's mark file with some values; the others are usual ones."""
    usual: dict[str, Any] = {
        "component_type": ClusterComponentType.CONSENSUS_MODULE,
        "start_timestamp": 1,
        "pid": 1,
        "archive_stream_id": 10,
        "service_stream_id": 104,
        "consensus_module_stream_id": 105,
        "ingress_stream_id": 101,
        "member_id": 0,
        "service_id": -1,
        "cluster_id": 0,
        "aeron_directory": "/aeron",
        "control_channel": "aeron:ipc",
        "ingress_channel": "aeron:udp",
        "service_name": "",
        "authenticator": "",
        "services_cluster_dir": "",
    }
    return ClusterHeader(**usual | values)
