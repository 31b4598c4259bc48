"""The reference's names for the exceptions in error logs, which its tools and tests look for.

The table goes by qualified names, because the lowest layer cannot import the classes above it. A
class that is not listed has the name of its nearest base class; exceptions of Python and of users'
services keep their own names.
"""

from __future__ import annotations

import re
from typing import Final

from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    ChannelUriError,
    ControlProtocolError,
    ErrorCode,
    RegistrationError,
)

_ERRORS: Final = "aerolog.transport.errors."
_AERON: Final = "io.aeron.exceptions."
_ARCHIVE: Final = "io.aeron.archive.client."
_CLUSTER: Final = "io.aeron.cluster.client."

#: The reference's class by the qualified name of ours.
REFERENCE_CLASSES: Final = {
    f"{_ERRORS}ActiveDriverError": "io.aeron.driver.exceptions.ActiveDriverException",
    f"{_ERRORS}ChannelUriError": "io.aeron.driver.exceptions.InvalidChannelException",
    f"{_ERRORS}ControlProtocolError": f"{_AERON}ControlProtocolException",
    "aerolog.transport.driver.conductor.command_error.ManualControlError": (
        f"{_AERON}ControlProtocolException"
    ),
    f"{_ERRORS}RegistrationError": f"{_AERON}RegistrationException",
    f"{_ERRORS}StorageSpaceError": f"{_AERON}StorageSpaceException",
    f"{_ERRORS}AeronTimeoutError": f"{_AERON}TimeoutException",
    f"{_ERRORS}DriverTimeoutError": f"{_AERON}DriverTimeoutException",
    f"{_ERRORS}ClientTimeoutError": f"{_AERON}ClientTimeoutException",
    f"{_ERRORS}ConductorServiceTimeoutError": f"{_AERON}ConductorServiceTimeoutException",
    f"{_ERRORS}ConcurrentUseError": "java.util.ConcurrentModificationException",
    f"{_ERRORS}ReentrantCallError": f"{_AERON}AeronException",
    f"{_ERRORS}CountersFullError": "java.lang.IllegalStateException",
    f"{_ERRORS}MessageTooLargeError": "java.lang.IllegalArgumentException",
    f"{_ERRORS}ArchiveError": f"{_ARCHIVE}ArchiveException",
    f"{_ERRORS}AerologError": f"{_AERON}AeronException",
    "aerolog.archive.service.reporter.ArchiveEvent": f"{_ARCHIVE}ArchiveEvent",
    "aerolog.archive.service.replication.source_archive.ReplicationFailedError": (
        f"{_ARCHIVE}ArchiveException"
    ),
    "aerolog.cluster.errors.ClusterError": f"{_CLUSTER}ClusterException",
    "aerolog.cluster.errors.ClusterEvent": f"{_CLUSTER}ClusterEvent",
    "aerolog.transport.concurrent.agent_runner.AgentTerminated": (
        "org.agrona.concurrent.AgentTerminationException"
    ),
}
_REFERENCE_TEXT: Final = re.compile(r"((?:[a-z_]\w*\.)+[A-Z]\w*) ?: ", re.ASCII)
_CATEGORY: Final = re.compile(r"(WARN|ERROR|FATAL) - ")


def qualified_name(error: BaseException) -> str:
    """Return the class of an exception with its module."""
    return f"{type(error).__module__}.{type(error).__qualname__}"


def reference_class(error: BaseException) -> str:
    """Return the reference's class for an exception, or its own class where there is none."""
    for kind in type(error).__mro__:
        found = REFERENCE_CLASSES.get(f"{kind.__module__}.{kind.__qualname__}")
        if kind is ControlProtocolError and error.code == ErrorCode.INVALID_CHANNEL:  # type: ignore[attr-defined]
            return REFERENCE_CLASSES[f"{_ERRORS}ChannelUriError"]
        if found is not None:
            return found
    return qualified_name(error)


def exception_line(error: BaseException, *, is_driver: bool = False) -> str:
    """Return an exception's class and message as the reference writes them into its error log.

    Exceptions of the reference have a category, by which tools filter; Java's own have none.

    Args:
        error: the exception.
        is_driver: whether a driver logs it, which wraps what is wrong with a channel.
    """
    if isinstance(error, RegistrationError):
        return f"{reference_class(error)}: {error.reference_message}"
    text = error.message if isinstance(error, ArchiveError) else str(error)
    named = _REFERENCE_TEXT.match(text)
    if named is not None:  # the text of an answer to a client, which names the class itself
        return f"{named[1]}: {text[named.end() :]}"
    own_type = getattr(error, "reference_type", None)
    if isinstance(own_type, str):
        line = f"{own_type}: {error.reference_message}"  # type: ignore[attr-defined]
        is_wrapped = is_driver and isinstance(error, ChannelUriError)
        return f"{reference_class(error)}: {line}" if is_wrapped else line
    name = reference_class(error)
    if not isinstance(error, AerologError) or _CATEGORY.match(text) or name.startswith("java."):
        return f"{name}: {text}"
    return f"{name}: {error.category.name} - {text}"
