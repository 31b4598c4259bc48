"""The codes and texts with which the archive's answers report errors, worded as the reference's."""

from __future__ import annotations

from aerolog.transport.errors import ArchiveError, ChannelUriError, RegistrationError


def answer_to(error: BaseException) -> tuple[int, str]:
    """Return code and text of the error response to a request that raised ``error``."""
    if isinstance(error, ArchiveError):
        return error.code_value, error.message
    return 0, exception_text(error)


def exception_text(error: BaseException) -> str:
    """Return the message that the reference's exception has.

    In the reference's archive a driver's refusal is an exception of its client, whose text starts
    with the category and ends with the driver's code (spec archive-protocol 9.1, 11.4).
    """
    if isinstance(error, RegistrationError):
        return error.reference_message
    reference = getattr(error, "reference_message", None)
    if isinstance(error, ChannelUriError) and reference:
        return str(reference)
    return str(error)


def java_text(error: BaseException) -> str:
    """Return ``<class>: <message>``, the form in which the reference writes exceptions."""
    if isinstance(error, OSError):
        return f"java.io.IOException: {error.strerror or error}"
    return f"io.aeron.archive.client.ArchiveException: ERROR - {error}"
