"""All exceptions that aerolog raises, under one root.

Each message says what was wrong, with which value, and what to do about it. A class for which
Python has a corresponding builtin exception derives from that builtin as well. Codes are the
reference's (spec cnc-and-commands 11.1, spec archive-protocol 2.3). Offers and polls do not raise
errors for back pressure but return a status.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum, auto
from typing import ClassVar, Final, Self

from aerolog.transport.secrets import without_secrets

# How the reference's driver begins the texts of its errors.
_REFERENCE_CLASS: Final = re.compile(r"^(?:[a-z_]\w*\.)+[A-Z]\w* ?: (?:(?:WARN|ERROR|FATAL) - )?")


class ErrorCategory(Enum):
    """How grave an entry of an error log is: its text begins with the name."""

    WARN = auto()
    ERROR = auto()
    FATAL = auto()


class AerologError(Exception):
    """Root of all errors of this package.

    Attributes:
        category: how grave it is when a driver or an archive logs it.
    """

    category: ClassVar[ErrorCategory] = ErrorCategory.ERROR

    def __str__(self) -> str:
        """The message without secrets, such as passwords in the URLs that it quotes."""
        return without_secrets(super().__str__())

    def __repr__(self) -> str:
        """The class and the message, without secrets."""
        return without_secrets(super().__repr__())


class AerologWarning(UserWarning):
    """Root of all warnings of this package: the work goes on, with less than was asked for.

    Commands print each text once, as a line on standard error.
    """


class _ReferenceError(AerologError, ValueError):
    """An error whose text a driver or archive sends to its client as the reference words it.

    Attributes:
        reference_type: the class that the reference names in its error response.
        reference_message: the text that follows it there.
    """

    def __init__(
        self,
        message: str,
        *,
        reference_type: str = "java.lang.IllegalArgumentException",
        reference_message: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reference_type = reference_type
        self.reference_message = message if reference_message is None else reference_message


class ConfigurationError(_ReferenceError):
    """A property, option or environment value that cannot be used."""


class ChannelUriError(_ReferenceError):
    """A channel that does not parse, or has a parameter out of range."""


class ResourceClosedError(AerologError):
    """The object, or the client or archive behind it, is closed."""


class StorageSpaceError(AerologError, OSError):
    """There is not enough space for a file that has to be allocated whole."""


class NoRegularFileError(AerologError, OSError):
    """Where a file belongs is a pipe or a device, which is not opened."""


class LogGoneError(AerologError, FileNotFoundError):
    """A driver that ends, or a stream that ends, has taken away the log that was announced."""


class FileFormatError(AerologError, ValueError):
    """A file is truncated, has another version, or is not what its name says."""


class _ReadingError(AerologError):
    """An error that ends the reading of a recording at a position."""

    def __init__(self, message: str, recording_id: int, position: int) -> None:
        super().__init__(message)
        self.recording_id = recording_id
        self.position = position

    def __reduce__(self) -> tuple[type[Self], tuple[str, int, int]]:
        """Errors travel between processes by pickle, which calls with ``args`` alone otherwise."""
        return type(self), (str(self), self.recording_id, self.position)


class RecordingDamagedError(_ReadingError, FileFormatError):
    """A recording cannot be read further: a segment is missing, damaged, or shorter than before.

    Attributes:
        recording_id: the recording.
        position: the position up to which it was read.
    """


class RecordingChangedError(RecordingDamagedError):
    """A recording was purged, truncated or invalidated while it was read."""


class MessageFormatError(AerologError, ValueError):
    """The bytes of a message are malformed, or have another schema than expected."""


class AeronTimeoutError(AerologError, TimeoutError):
    """An operation was not completed within its timeout."""


class MergeStalledError(_ReadingError, AeronTimeoutError):
    """A merged replay waits for a recording that delivers no data.

    Attributes:
        recording_id: the recording.
        position: the position up to which it was read.
    """


class DriverTimeoutError(AeronTimeoutError):
    """There is no driver, or it does not answer, or its heartbeat stopped."""

    category = ErrorCategory.FATAL


class ClientTimeoutError(AeronTimeoutError):
    """The driver timed this client out; connect a new one."""

    category = ErrorCategory.FATAL


class ConductorServiceTimeoutError(AeronTimeoutError):
    """This client was not serviced for longer than the driver's client liveness timeout."""

    category = ErrorCategory.FATAL


class ActiveDriverError(AerologError):
    """A live media driver owns the directory."""


class ActiveArchiveError(AerologError):
    """A live archive owns the directory."""


class _ErrorCode(IntEnum):
    """Codes that a peer sends; what they do not list is UNKNOWN_CODE_VALUE, which is -1."""

    @classmethod
    def _missing_(cls, value: object) -> Self:  # noqa: ARG003 - the hook has it
        return cls(-1)


class ErrorCode(_ErrorCode):
    """Codes of the driver's ON_ERROR response (spec cnc-and-commands 11.1)."""

    UNKNOWN_CODE_VALUE = -1
    UNUSED = 0
    INVALID_CHANNEL = 1
    UNKNOWN_SUBSCRIPTION = 2
    UNKNOWN_PUBLICATION = 3
    CHANNEL_ENDPOINT_ERROR = 4
    UNKNOWN_COUNTER = 5
    UNKNOWN_COMMAND_TYPE_ID = 6
    MALFORMED_COMMAND = 7
    NOT_SUPPORTED = 8
    UNKNOWN_HOST = 9
    RESOURCE_TEMPORARILY_UNAVAILABLE = 10
    GENERIC_ERROR = 11
    STORAGE_SPACE = 12
    IMAGE_REJECTED = 13
    PUBLICATION_REVOKED = 14


class ControlProtocolError(AerologError):
    """The driver refuses a command with a specific error code.

    Attributes:
        code: the code for the ON_ERROR response.
        correlation_id: correlation id of the command; 0 if the message is too short to hold one
            (spec cnc-and-commands 11.3).
    """

    def __init__(self, code: ErrorCode, message: str, correlation_id: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.correlation_id = correlation_id
        self.message = message


class CountersFullError(AerologError):
    """No counter is free; use a larger aeron.counters.buffer.length."""


class BroadcastLappedError(AerologError):
    """Messages of the driver were lost because they were read too slowly; connect a new client."""


class ConcurrentUseError(AerologError, RuntimeError):
    """Two threads used an object at once that belongs to one thread at a time."""


class ReentrantCallError(AerologError, RuntimeError):
    """A handler of the client called back into it."""


class RegistrationError(AerologError):
    """The driver refused a command.

    Attributes:
        correlation_id: correlation id of the command.
        code: the driver's error code; UNKNOWN_CODE_VALUE if aerolog does not know it.
        code_value: the number that the driver sent.
        message: the driver's text, which may begin with a class name of the reference; the text of
            the exception leaves that out.
    """

    def __init__(self, correlation_id: int, code_value: int, message: str) -> None:
        text = _REFERENCE_CLASS.sub("", message)
        super().__init__(f"{text}, errorCodeValue={code_value}")
        self.correlation_id = correlation_id
        self.code = ErrorCode(code_value)
        self.code_value = code_value
        self.message = message

    @property
    def reference_message(self) -> str:
        """The text of the reference's exception: with the category and all that the driver said."""
        passes = self.code is ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE
        category = ErrorCategory.WARN if passes else ErrorCategory.ERROR
        text = f"{category.name} - {self.message}, errorCodeValue={self.code_value}"
        return without_secrets(text)


class ChannelEndpointError(AerologError):
    """A socket of a channel failed after it had been set up."""

    def __init__(self, status_indicator_id: int, message: str) -> None:
        super().__init__(message)
        self.status_indicator_id = status_indicator_id


class PublicationError(AerologError):
    """A blocking send failed; the subclasses give the reasons."""


class NotConnectedError(PublicationError):
    """No subscriber is connected."""


class BackPressuredError(PublicationError, TimeoutError):
    """Subscribers did not consume enough within the timeout to make room for the message."""


class PublicationClosedError(PublicationError, ResourceClosedError):
    """The publication is closed."""


class MaxPositionExceededError(PublicationError):
    """The stream has reached its last position; add a new publication, with a larger term."""


class MessageTooLargeError(AerologError, ValueError):
    """A message is longer than the publication can carry."""


class ArchiveErrorCode(_ErrorCode):
    """Codes of the archive's error responses (spec archive-protocol 2.3)."""

    UNKNOWN_CODE_VALUE = -1
    GENERIC = 0
    ACTIVE_LISTING = 1
    ACTIVE_RECORDING = 2
    ACTIVE_SUBSCRIPTION = 3
    UNKNOWN_SUBSCRIPTION = 4
    UNKNOWN_RECORDING = 5
    UNKNOWN_REPLAY = 6
    MAX_REPLAYS = 7
    MAX_RECORDINGS = 8
    INVALID_EXTENSION = 9
    AUTHENTICATION_REJECTED = 10
    STORAGE_SPACE = 11
    UNKNOWN_REPLICATION = 12
    UNAUTHORISED_ACTION = 13
    REPLICATION_CONNECTION_FAILURE = 14
    EMPTY_RECORDING = 15
    INVALID_POSITION = 16


class ArchiveError(AerologError):
    """The archive refused a request.

    Attributes:
        code: the archive's error code.
        correlation_id: correlation id of the request; -1 if the error belongs to no request.
    """

    def __init__(self, code_value: int, message: str, correlation_id: int = -1) -> None:
        super().__init__(f"{message} (error code {code_value})")
        self.code = ArchiveErrorCode(code_value)
        self.code_value = code_value
        self.correlation_id = correlation_id
        self.message = message


class TimeIndexUnavailableError(AerologError):
    """An archive keeps no time index, or none of the requested recording."""

    def __init__(self, recording_id: int, message: str) -> None:
        super().__init__(message)
        self.recording_id = recording_id


class JoinErrorReason(IntEnum):
    """Why a replay could not join a live stream; the first four reasons are the reference's."""

    GENERIC = 0
    RECORDING_NOT_FOUND = 1
    STREAM_ID_MISMATCH = 2
    INVALID_START_POSITION = 3
    LIVE_STREAM_MISMATCH = 4
    SESSION_ID_MISMATCH = 5
    IMAGE_CLOSED = 6
    NOT_RECORDED = 7


class JoinError(AerologError):
    """A replay could not join a live stream."""

    def __init__(self, reason: JoinErrorReason, message: str) -> None:
        super().__init__(f"{message} ({reason.name})")
        self.reason = reason
        self.message = message


class PersistentSubscriptionError(JoinError):
    """A persistent subscription has failed and delivers no more messages."""


class ReplayMergeError(JoinError):
    """A replay merge has failed."""


class MissingExtraError(AerologError, ImportError):
    """An optional part needs packages that are not installed.

    Attributes:
        extra: the name to install, as in ``pip install 'aerolog[arrow]'``.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional packages of 'aerolog[{extra}]': "
            f"pip install 'aerolog[{extra}]'"
        )
        self.extra = extra
