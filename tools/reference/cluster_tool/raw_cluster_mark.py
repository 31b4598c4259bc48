"""A cluster's mark file as the reference's tool opens it."""

from __future__ import annotations

from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile
from aerolog.cluster.files.layout import MARK_VERSION
from aerolog.cluster.protocol.mark_header import MarkFileHeader
from aerolog.tools.archive_files.raw_catalog import major
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.command_line.java_error import CLUSTER_ERROR, ILLEGAL_ARGUMENT, JavaError
from aerolog.transport.concurrent.clock import SystemClock


class RawClusterMark(RawMark):
    """An open mark file of a consensus module or a service."""

    HEADER = MarkFileHeader
    NAME = CLUSTER_MARK_NAME
    MAJOR = major(MARK_VERSION)

    def wrong_version(self) -> JavaError:
        """What the reference throws at another major version."""
        return JavaError(
            CLUSTER_ERROR,
            f"ERROR - mark file major version {major(self.version)} does not match software:"
            f" {self.MAJOR}",
        )

    @property
    def header(self) -> MarkFileHeader:
        """All fields.

        Raises:
            FileFormatError: they do not hold together.
            JavaError: there is no such component.
        """
        header = ClusterMarkFile(self.mapped, SystemClock()).header
        if not header.component_type.is_listed:
            raise JavaError(ILLEGAL_ARGUMENT, f"Unknown value: {int(header.component_type)}")
        return header
