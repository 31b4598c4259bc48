"""Checksums by the names that the reference's tool takes, with its words for wrong ones."""

from __future__ import annotations

from aerolog.archive.format.checksum import Checksum, checksum_for
from aerolog.tools.command_line.java_error import ILLEGAL_ARGUMENT, JavaError
from aerolog.transport.errors import ConfigurationError


def check_class_name(name: str) -> str:
    """A name that is there.

    Raises:
        JavaError: it is blank.
    """
    if not name.strip():
        raise JavaError(ILLEGAL_ARGUMENT, "Checksum class name must be specified!")
    return name


def checksum_of_class(name: str) -> Checksum:
    """The checksum of that name.

    Raises:
        JavaError: there is none.
    """
    try:
        found = checksum_for(name)
    except ConfigurationError as error:
        raise JavaError(
            ILLEGAL_ARGUMENT, f"failed to create Checksum instance for class: {name}"
        ) from error
    assert found is not None
    return found
