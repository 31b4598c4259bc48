"""Runs a consensus module in the foreground, alone or with driver and archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.module.clustered_driver import ClusteredMediaDriver
from aerolog.cluster.module.consensus_module import ConsensusModule
from aerolog.cluster.module.properties import PROPERTIES, ModuleConfig
from aerolog.transport.agents.foreground import run_service, say_ready
from aerolog.transport.config import Settings
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.concurrent.stop_signal import ServiceStop
    from aerolog.transport.config.sources import Properties


def main_consensus_module(argv: Sequence[str]) -> int:
    """Run a consensus module beside a driver and an archive, until a signal or the cluster's end.

    It writes one line to stdout when services can connect; everything else goes to stderr.

    Args:
        argv: ``-Dname=value`` definitions and properties files; later ones override earlier ones.

    Returns:
        0 after an orderly stop, 1 when the module could not start or go on, 2 for invalid
        arguments.
    """

    def run(properties: Properties, stop: ServiceStop) -> None:
        with ConsensusModule(
            properties=properties, on_fatal=stop.fail, on_terminated=stop.stop
        ) as module:
            say_ready(f"aerolog consensus module ready: {module.cluster_dir} on {module.aeron_dir}")
            stop.wait()

    return run_service(argv, run, _check)


def main_clustered_driver(argv: Sequence[str]) -> int:
    """Run driver, archive and consensus module in one process, until a signal or the cluster's end.

    Args:
        argv: arguments as for ``main_consensus_module``.

    Returns:
        An exit code as ``main_consensus_module`` returns it.
    """

    def run(properties: Properties, stop: ServiceStop) -> None:
        with ClusteredMediaDriver(
            properties=properties,
            on_fatal=stop.fail,
            on_terminated=stop.stop,
            termination_hook=stop.stop,
        ) as node:
            folder = node.module.cluster_dir
            say_ready(f"aerolog clustered driver ready: {node.aeron_dir}, cluster {folder}")
            stop.wait()

    return run_service(argv, run, _check)


def _check(properties: Properties) -> None:
    try:
        ModuleConfig(properties)
    except ConfigurationError:
        # What is missing may be there under a name that is not known.
        Settings(PROPERTIES, properties).report()
        raise
