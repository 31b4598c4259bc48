"""Takes snapshots of the folder of a cluster's node: mark files, recording log, node state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, NodeStateFile, RecordingLog
from aerolog.cluster.files.layout import NODE_STATE_NAME
from aerolog.tools.cluster.node_marks import service_marks
from aerolog.tools.doctor.system_snapshot import STARTING, ClusterSnapshot, ComponentMark
from aerolog.tools.views import machine
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mark_file import linked_folder

_NO_NODE: Final = (
    "name another folder with --cluster-dir (aeron.cluster.dir), or mount the file system that it"
    " is on"
)


def cluster_snapshot(cluster_dir: str) -> ClusterSnapshot:
    """Reads everything that checks want to know of a node's folder, whether it runs or not.

    Raises:
        ViewError: it is not the folder of a node, or cannot be read.
    """
    try:
        marks, faults = _marks(cluster_dir)
        log, state = _log(cluster_dir), _state(cluster_dir)
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = "run this as the user that owns it, and see whether the disk answers"
        raise ViewError(Trouble.UNREADABLE, error.filename, reason, remedy) from None
    if not (marks or faults or log["has_log"] or state["has_state"]):
        exists = Path(cluster_dir).is_dir()
        reason = "no file of a cluster's node is in it" if exists else "there is no such folder"
        raise ViewError(Trouble.MISSING, cluster_dir, reason, _NO_NODE)
    return ClusterSnapshot(cluster_dir, marks, faults, **log, **state)


def _marks(cluster_dir: str) -> tuple[list[ComponentMark], dict[str, str]]:
    """The marks of the module and its services, and what is wrong with those not readable."""
    marks: list[ComponentMark] = []
    faults: dict[str, str] = {}

    def read(folder: str, name: str) -> str:
        try:
            mark, services_dir = _mark(folder, name)
        except FileNotFoundError:
            return ""
        except (FileFormatError, OSError) as error:
            faults[name] = str(error)
            return ""
        marks.append(mark)
        return services_dir

    services_dir = read(cluster_dir, CLUSTER_MARK_NAME) or cluster_dir
    for name in service_marks(services_dir):
        read(services_dir, name)
    return marks, faults


def _mark(folder: str, name: str) -> tuple[ComponentMark, str]:
    """A mark file of any version, for a finding says which one, and the folder of services."""
    path = str(Path(linked_folder(folder, name)) / name)
    mapped = RealFileSystem().open_mapped(path, writable=False)
    mark = ClusterMarkFile(mapped, SystemClock())
    header = mark.header
    service_id = header.service_id
    kind = header.component_type.name.lower().replace("_", " ")
    component = ComponentMark(
        process=machine.process(header.pid),
        # A file that was made just now has no sign of life: its owner starts.
        activity_ms=mark.activity_timestamp or STARTING,
        aeron_dir=header.aeron_directory,
        start_ms=header.start_timestamp,
        error_log_capacity=mark.error_length,
        who=kind if service_id < 0 else f"service {service_id}",
        file=name,
        service_id=service_id,
        cluster_id=header.cluster_id,
        version=header.version,
        errors=mark.errors(),
    )
    return component, header.services_cluster_dir


def _log(cluster_dir: str) -> dict[str, Any]:
    try:
        with RecordingLog(cluster_dir, writable=False) as log:
            return {
                "entries": log.entries,
                "log_end": log.end,
                "log_torn": log.torn_length,
                "has_log": True,
            }
    except FileNotFoundError:
        return {"has_log": False}
    except FileFormatError as error:
        return {"log_fault": str(error), "has_log": True}


def _state(cluster_dir: str) -> dict[str, Any]:
    path = Path(cluster_dir) / NODE_STATE_NAME
    if path.exists() and path.stat().st_size == 0:
        return {"has_state": False}  # its creation was cut off, and a node makes it anew
    try:
        NodeStateFile(cluster_dir)
    except FileNotFoundError:
        return {"has_state": False}
    except FileFormatError as error:
        return {"state_fault": str(error), "has_state": True}
    return {"has_state": True}
