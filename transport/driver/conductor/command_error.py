"""The error code and text that answer a failed command (spec cnc-and-commands 11.2)."""

from __future__ import annotations

import errno

from aerolog.transport.errors import (
    ChannelUriError,
    ConfigurationError,
    ControlProtocolError,
    CountersFullError,
    ErrorCode,
    StorageSpaceError,
)

ILLEGAL_STATE = "java.lang.IllegalStateException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NUMBER_FORMAT = "java.lang.NumberFormatException"
CONFIGURATION_EXCEPTION = "io.aeron.exceptions.ConfigurationException"


class CommandError(ControlProtocolError):
    """A refused command, with the full text of the answer after the reference's class name.

    Attributes:
        quiet: whether the error is sent to the client without being counted or logged.
    """

    def __init__(self, code: ErrorCode, text: str, *, quiet: bool = False) -> None:
        super().__init__(code, text)
        self.quiet = quiet


class ManualControlError(ControlProtocolError):
    """A destination was asked for on a channel that takes none.

    Of what is wrong with channels only this has another class in the reference's error log.
    """

    def __init__(self) -> None:
        super().__init__(ErrorCode.INVALID_CHANNEL, "channel does not allow manual control")


def invalid_channel(message: str) -> ControlProtocolError:
    """Return the error for a channel parameter that the driver itself refuses."""
    return ControlProtocolError(ErrorCode.INVALID_CHANNEL, message)


def generic(reference_type: str, message: str) -> CommandError:
    """Return a failure without a code of its own, named by the reference's exception class."""
    return CommandError(ErrorCode.GENERIC_ERROR, f"{reference_type} : {message}")


def answer_to(error: BaseException) -> tuple[ErrorCode, str]:
    """Return the code and text of the ON_ERROR message that answers a failure."""
    if isinstance(error, CommandError):
        return error.code, error.message
    if isinstance(error, ControlProtocolError):
        return error.code, f"ERROR - {error.message}"
    if isinstance(error, ChannelUriError):
        return ErrorCode.INVALID_CHANNEL, f"{error.reference_type}: {error.reference_message}"
    if isinstance(error, ConfigurationError):
        return ErrorCode.GENERIC_ERROR, f"{error.reference_type} : {error.reference_message}"
    if isinstance(error, CountersFullError):
        return ErrorCode.GENERIC_ERROR, f"{ILLEGAL_STATE} : {error}"
    if isinstance(error, StorageSpaceError):
        return ErrorCode.STORAGE_SPACE, f"ERROR - {error}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return ErrorCode.STORAGE_SPACE, f"{type(error).__name__} : {error}"
    return ErrorCode.GENERIC_ERROR, f"{type(error).__name__} : {error}"
