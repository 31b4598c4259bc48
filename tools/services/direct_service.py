"""The services started with properties and files alone, as scripts do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Command -> module and function that runs the service.
SERVICES: Final = {
    "driver": ("aerolog.transport.driver", "main"),
    "archiving-driver": ("aerolog.archive.service", "main_archiving_driver"),
    "archive": ("aerolog.archive.service", "main_archive"),
    "clustered-driver": ("aerolog.cluster.module", "main_clustered_driver"),
    "consensus-module": ("aerolog.cluster.module", "main_consensus_module"),
    "service-container": ("aerolog.cluster.service.container_main", "main_service_container"),
}


def service(name: str) -> Callable[[list[str]], int | None]:
    """What runs a service until it ends; gives its exit code."""
    module, function = SERVICES[name]
    found: Callable[[list[str]], int | None] = getattr(importlib.import_module(module), function)
    return found


def direct_form(arguments: Sequence[str]) -> Callable[[], int | None] | None:
    """The service that is asked for, None where an option other than a property is given."""
    name, *given = arguments
    if any(one.startswith("-") and not one.startswith("-D") for one in given):
        return None
    return lambda: service(name)(given)
