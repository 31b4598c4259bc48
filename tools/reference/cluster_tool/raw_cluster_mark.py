"""A cluster's mark file as the reference's tool opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, service_mark_name
from aerolog.cluster.files.layout import MARK_VERSION
from aerolog.cluster.protocol.mark_header import MarkFileHeader
from aerolog.tools.archive_files.java_error import ILLEGAL_ARGUMENT, JavaError
from aerolog.tools.archive_files.raw_catalog import major
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.mark_file import link_name

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER_ERROR: Final = "io.aeron.cluster.client.ClusterException"
_SERVICES_MAX: Final = 128


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


def service_marks(folder: str) -> Iterator[str]:
    """Names of the mark files of services in a folder, in the order of the services."""
    for service_id in range(_SERVICES_MAX):
        name = service_mark_name(service_id)
        if any(Path(folder, each).exists() for each in (name, link_name(name))):
            yield name
