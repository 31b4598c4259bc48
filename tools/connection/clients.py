"""Clients of the driver and the archive, made from command line options."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aerolog.tools.terminal.console import remark
from aerolog.transport.client.announcement import announced
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.client import AeronArchive
    from aerolog.tools.command_line.options import ArchiveOptions, DriverOptions
    from aerolog.transport.client import Aeron

CLIENT_NAME = "aerolog"


def note_error(error: BaseException) -> None:
    """Print what a client reports on the side."""
    # The death of the driver ends the command with an error that says so: not twice.
    if not isinstance(error, AeronTimeoutError):
        remark(f"aerolog: {error}")


def connect_driver(options: DriverOptions) -> Aeron:
    """A client of the media driver; a context manager.

    Raises:
        DriverTimeoutError: there is no driver in the directory.
    """
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.options import default_aeron_dir

    aeron_dir = options.aeron_dir or default_aeron_dir()
    with announced(lambda: remark(f"aerolog: waiting for a media driver in {aeron_dir}")):
        return Aeron(
            aeron_dir,
            driver_timeout=options.driver_timeout,
            name=CLIENT_NAME,
            on_error=note_error,
            strict=options.strict or None,
        )


def connect_archive(aeron: Aeron, options: ArchiveOptions) -> AeronArchive:
    """A client of the archive; a context manager.

    Raises:
        AeronTimeoutError: nobody answers on the control channel.
    """
    from aerolog.archive.client import AeronArchive

    chosen = client_options(options)
    channel = chosen["request_channel"] or "its channel"
    with announced(lambda: remark(f"aerolog: waiting for an archive on {channel}")):
        return AeronArchive(aeron, **chosen)


def client_options(options: ArchiveOptions) -> dict[str, Any]:
    """What clients of an archive are made with."""
    from aerolog.tools.connection.credentials import credentials_of

    return {
        "request_channel": options.control_channel,
        "request_stream_id": options.control_stream,
        "response_channel": options.response_channel,
        "response_stream_id": options.response_stream,
        "message_timeout": options.archive_timeout,
        "credentials": credentials_of(options),
        "name": CLIENT_NAME,
    }


@contextmanager
def open_archive(options: ArchiveOptions) -> Iterator[AeronArchive]:
    """A client of the archive on a client of the media driver, both closed at the end."""
    with connect_driver(options) as aeron, connect_archive(aeron, options) as archive:
        yield archive
