"""Runs a service container in the foreground, from a command line."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from aerolog.cluster.service.clustered_service import ClusteredService
from aerolog.cluster.service.object_name import is_object_name, object_of
from aerolog.cluster.service.options import SERVICE_CLASS, ServiceContainerOptions
from aerolog.cluster.service.service_container import ServiceContainer
from aerolog.transport.agents.foreground import run_service, say_ready
from aerolog.transport.client.announcement import announced
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.concurrent.stop_signal import ServiceStop
    from aerolog.transport.config.sources import Properties


def main_service_container(argv: Sequence[str]) -> int:
    """Run a service beside a consensus module, until a signal or the cluster's end.

    It writes one line to stdout when the service has joined the log and clients are served;
    everything else goes to stderr. Modules of the current folder can be imported.

    Args:
        argv: ``MODULE:CLASS`` of the service, ``-Dname=value`` definitions and properties files;
            later ones override earlier ones.

    Returns:
        0 after an orderly stop, 1 when the service could not start or go on, 2 for invalid
        arguments.
    """
    arguments = [
        f"-D{SERVICE_CLASS.name}={each}" if is_object_name(each) else each for each in argv
    ]

    def run(properties: Properties, stop: ServiceStop) -> None:
        options = ServiceContainerOptions.of(properties=properties)
        service = service_of(options.service_class_name)

        def end(container: ServiceContainer) -> None:
            if container.failure is None:
                stop.stop()
            else:
                stop.fail(container.failure)

        is_ready = threading.Event()

        def ready(container: ServiceContainer) -> None:
            if not is_ready.is_set():
                is_ready.set()
                say_ready(
                    f"aerolog service container ready: {type(service).__name__} on"
                    f" {container.aeron_dir}"
                )

        def say_wait() -> None:
            if not is_ready.is_set():
                write_text(
                    "aerolog service container: waiting for the consensus module of cluster"
                    f" {options.cluster_id} in {options.aeron_dir or default_aeron_dir()}\n"
                )

        with (
            announced(say_wait),
            ServiceContainer(service, properties=properties, on_ready=ready, on_end=end),
        ):
            stop.wait()

    def check(properties: Properties) -> None:
        ServiceContainerOptions.of(properties=properties)

    return run_service(arguments, run, check)


def service_of(name: str | None) -> ClusteredService:
    """Import and make the service that ``MODULE:CLASS`` names.

    Raises:
        ConfigurationError: there is no such class, or it is no service.
    """
    made = object_of(name or "", SERVICE_CLASS.name)
    service = made() if callable(made) else made
    if not isinstance(service, ClusteredService):
        raise ConfigurationError(
            f"{name} makes a {type(service).__name__}, not an aerolog.cluster.service"
            ".ClusteredService"
        )
    return service
