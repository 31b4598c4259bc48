"""``ClusteredMediaDriver``: driver, archive and consensus module in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.service.archiving_driver import ArchivingMediaDriver
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.module.consensus_module import ConsensusModule
from aerolog.cluster.module.properties import module_folders
from aerolog.transport.config.sources import Properties
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping


class ClusteredMediaDriver(Resource):
    """A driver, an archive that uses it, and the consensus module of a node on both.

    Args:
        aeron_dir: the driver's directory; by default as configured.
        archive_dir: the archive's folder; by default as configured.
        cluster_dir: the node's folder; by default as configured.
        properties: settings of all three by the reference's names; the environment's when None.
        driver_options: settings of the driver by keyword.
        archive_options: settings of the archive by keyword.
        module_options: settings of the consensus module by keyword.
        termination_hook: called when the driver obeys a terminate command.
        on_fatal: called with the reason when driver, archive or module cannot go on.
        on_terminated: called when the cluster was shut down or aborted.

    Attributes:
        archiving_driver: the running driver and archive.
        module: the running consensus module.

    Raises:
        AerologError: any error of the three; none is left running.
    """

    def __init__(
        self,
        aeron_dir: str | os.PathLike[str] | None = None,
        archive_dir: str | os.PathLike[str] | None = None,
        cluster_dir: str | os.PathLike[str] | None = None,
        *,
        properties: Properties | None = None,
        driver_options: Mapping[str, object] | None = None,
        archive_options: Mapping[str, object] | None = None,
        module_options: Mapping[str, object] | None = None,
        termination_hook: Callable[[], None] | None = None,
        on_fatal: Callable[[BaseException], None] | None = None,
        on_terminated: Callable[[], None] | None = None,
    ) -> None:
        layers = Properties.from_environment() if properties is None else properties
        # Before driver and archive take their folders over.
        folder, mark_dir = module_folders(
            layers, {"cluster_dir": cluster_dir, **dict(module_options or {})}
        )
        ClusterMarkFile.check_free(folder, mark_dir=mark_dir)
        self.archiving_driver = ArchivingMediaDriver(
            aeron_dir,
            archive_dir,
            properties=layers,
            driver_options=driver_options,
            archive_options=archive_options,
            termination_hook=termination_hook,
            on_fatal=on_fatal,
        )
        try:
            self.module = ConsensusModule(
                cluster_dir,
                self.archiving_driver.aeron_dir,
                properties=layers,
                on_fatal=on_fatal,
                on_terminated=on_terminated,
                **{
                    "archive_channel": self.archiving_driver.archive.local_control_channel,
                    **dict(module_options or {}),
                },  # type: ignore[arg-type]  # settings by keyword
            )
        except BaseException:
            self.archiving_driver.close()
            raise

    @property
    def aeron_dir(self) -> str:
        """The directory that clients connect to."""
        return self.archiving_driver.aeron_dir

    @property
    def is_closed(self) -> bool:
        """Whether one of the three has ended."""
        return self.archiving_driver.is_closed or self.module.is_closed

    def close(self) -> None:
        """Close the module, the archive, then the driver."""
        try:
            self.module.close()
        finally:
            self.archiving_driver.close()

    def __repr__(self) -> str:
        return f"<ClusteredMediaDriver of {self.archiving_driver!r} and {self.module!r}>"
