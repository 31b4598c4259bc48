"""How errors read in the archive's answers: in the words that the reference would use."""

from __future__ import annotations

from aerolog.transport.errors import ArchiveError, ChannelUriError, RegistrationError


def answer_to(error: BaseException) -> tuple[int, str]:
    """Code and text of the error response to a request that raised."""
    if isinstance(error, ArchiveError):
        return error.code_value, error.message
    return 0, exception_text(error)


def exception_text(error: BaseException) -> str:
    """The message that the reference's exception would have.

    A driver's refusal reaches the reference's archive as an exception of its client, whose text has
    the category in front and the driver's code behind (spec archive-protocol 9.1, 11.4).
    """
    if isinstance(error, RegistrationError):
        return f"ERROR - {error}"
    reference = getattr(error, "reference_message", None)
    if isinstance(error, ChannelUriError) and reference:
        return str(reference)
    return str(error)


def java_text(error: BaseException) -> str:
    """``<class>: <message>`` as the reference writes exceptions met while recording."""
    if isinstance(error, OSError):
        return f"java.io.IOException: {error.strerror or error}"
    return f"io.aeron.archive.client.ArchiveException: ERROR - {error}"
