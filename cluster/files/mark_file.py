"""Mark files of a cluster folder, and the error logs in them (spec cluster 4).

A consensus module has ``cluster-mark.dat``, and each service ``cluster-mark-service-N.dat``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.errors import ActiveClusterError
from aerolog.cluster.files.layout import CLUSTER_MARK_NAME, MARK_VERSION
from aerolog.cluster.protocol.mark_header import ClusterComponentType, MarkFileHeader
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.mark_file import TERMINATED, MarkFile

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile


def service_mark_name(service_id: int) -> str:
    """Return the name of the mark file of a service's container."""
    return f"cluster-mark-service-{service_id}.dat"


class ClusterMarkFile(MarkFile[MarkFileHeader]):
    """The mark file of a consensus module, a service container, or a backup."""

    HEADER = MarkFileHeader
    NAME = CLUSTER_MARK_NAME
    CLASS_NAME = "ClusterMarkFile"
    VERSION = MARK_VERSION
    OWNER = "cluster component"
    LOSS = "it has stopped"
    DIR_PROPERTY = "aeron.cluster.dir"
    ACTIVE_ERROR = ActiveClusterError
    ERROR_PREFIX = "{0.component_type.name}"
    FAILED_VERSION = -1
    KEPT = ("candidate_term_id",)

    @classmethod
    def check_predecessor(cls, header: MarkFileHeader, mapped: MappedFile) -> None:
        """Check that the file is one of the same component; a member may go on from a backup.

        Raises:
            FileFormatError: it is another component's.
        """
        ours = header.component_type
        at = cls._block_offset(mapped) + cls._at("component_type")
        found = ClusterComponentType(mapped.load_i32(at))
        if found in {ClusterComponentType.UNKNOWN, ours}:
            return
        if (found, ours) == (ClusterComponentType.BACKUP, ClusterComponentType.CONSENSUS_MODULE):
            return
        raise FileFormatError(
            f"existing Mark file type {found.name} not same as required type {ours.name}:"
            f" {mapped.path}: use another {cls.DIR_PROPERTY}"
        )

    @property
    def candidate_term_id(self) -> int:
        """The highest term of an election, -1 without one; 1.51.0 keeps it in node-state.dat."""
        return self.mapped.load_i64(self.offset_of("candidate_term_id"))

    def set_member_id(self, member_id: int) -> None:
        """Store the member, which a service learns only when it joins a log."""
        self.mapped.store_i32(self.offset_of("member_id"), member_id)

    def terminated(self) -> None:
        """Show that the owner ended in good order; the version stays."""
        if self.is_owned:
            self._store_activity(TERMINATED)
            self.mapped.flush()

    def failed_start(self) -> None:
        """Show that the start failed, so that the next owner warns of it and need not wait."""
        if self.is_owned:
            self._store_activity(TERMINATED)
            self._store_version(self.FAILED_VERSION)
