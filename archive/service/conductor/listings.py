"""Listings, which send descriptors one by one as the client takes them.

Spec archive-protocol 13.2, 13.3.

A control session has one listing at a time, and a change of a recording's channel counts as one.
Each listing is a generator of messages; a message that could not be sent is sent again in the next
duty cycle.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import (
    SCHEMA_ID,
    SCHEMA_VERSION,
    RecordingDescriptor,
    RecordingSubscriptionDescriptor,
)
from aerolog.archive.service.conductor.refusals import answer_to
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.catalog_file import CatalogFile
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.recorder.recording_session import RecordingSubscription

SCAN_LIMIT: Final = 64
FILTER_LIMIT: Final = 4096
_PREFIX = struct.Struct("<HHHHqq")


def descriptor_message(
    catalog: CatalogFile, recording_id: int, control_session_id: int, correlation_id: int
) -> bytes:
    """Encode a RecordingDescriptor message: a prefix, and the catalog's bytes with their fill."""
    layout = RecordingDescriptor.LAYOUT
    prefix = _PREFIX.pack(
        layout.block_length,
        layout.template_id,
        SCHEMA_ID,
        SCHEMA_VERSION,
        control_session_id,
        correlation_id,
    )
    return prefix + catalog.descriptor_tail(recording_id)


class Listing:
    """The answers to one listing request.

    Args:
        control: the session that sent the request.
        messages: messages to send in order; None ends the scan of one duty cycle.
    """

    def __init__(self, control: ControlSession, messages: Iterator[bytes | None]) -> None:
        self.control = control
        self._messages = messages
        self._unsent: bytes | None = None
        self.is_done = False
        control.active_listing = True

    @property
    def is_blocked(self) -> bool:
        """Whether a message could not be sent yet."""
        return self._unsent is not None

    def do_work(self) -> int:
        """Send what the publication takes in one duty cycle."""
        work = 0
        while not self.is_done:
            if self.control.is_done:
                self._finish()
                break
            if self._unsent is None:
                try:
                    self._unsent = next(self._messages)
                except StopIteration:
                    self._finish()
                    break
                work += 1
                if self._unsent is None:
                    break
            if not self.control.try_send(self._unsent):
                break
            self._unsent = None
            work += 1
        return work

    def _finish(self) -> None:
        self.is_done = True
        self.control.active_listing = False


def list_recordings(
    control: ControlSession,
    catalog: CatalogFile,
    correlation_id: int,
    from_recording_id: int,
    count: int,
    *,
    stream_id: int | None = None,
    fragment: str = "",
) -> Iterator[bytes | None]:
    """Yield up to ``count`` descriptors from an id on, and a final answer when there are fewer.

    Args:
        control: the session that sent the request.
        catalog: the archive's catalog.
        correlation_id: the request's correlation id.
        from_recording_id: lowest id to examine.
        count: descriptors to send; with 0 nothing is answered.
        stream_id: the wanted stream id, None for any.
        fragment: text that the original channel must contain.
    """
    sent = 0
    next_id = from_recording_id
    wanted = fragment.encode("ascii", "replace")
    limit = SCAN_LIMIT if stream_id is None else FILTER_LIMIT
    while sent < count:
        # The index as it is now; recordings may be added and removed before the next duty cycle.
        ids, next_id, is_end = catalog.matching(next_id, limit, stream_id, wanted)
        for recording_id in ids:
            if recording_id not in catalog:
                continue
            sent += 1
            yield descriptor_message(catalog, recording_id, control.session_id, correlation_id)
            if sent == count:
                return
        if is_end:
            control.send_recording_unknown(correlation_id, next_id)
            return
        yield None


def list_recording(
    control: ControlSession, catalog: CatalogFile, correlation_id: int, recording_id: int
) -> Iterator[bytes | None]:
    """Yield the descriptor of one recording, which exists."""
    yield descriptor_message(catalog, recording_id, control.session_id, correlation_id)


def update_channel(
    control: ControlSession,
    catalog: CatalogFile,
    correlation_id: int,
    recording_id: int,
    *,
    original_channel: str,
    stripped_channel: str,
) -> Iterator[bytes | None]:
    """Change the channels of a recording and answer; no descriptor is sent."""
    try:
        descriptor = catalog.descriptor(recording_id)
        catalog.replace_recording(
            descriptor.with_changes(
                original_channel=original_channel, stripped_channel=stripped_channel
            )
        )
    except AerologError as error:
        control.send_error(correlation_id, *answer_to(error))
        return
    control.send_ok(correlation_id)
    yield from ()


def list_subscriptions(
    control: ControlSession,
    sources: list[RecordingSubscription],
    correlation_id: int,
    count: int,
    *,
    stream_id: int | None,
    fragment: str,
) -> Iterator[bytes | None]:
    """Yield up to ``count`` subscription descriptors, and a final answer when there are fewer."""
    sent = 0
    for source in sources:
        if sent == count:
            return
        channel = source.channel
        if (stream_id is None or source.stream_id == stream_id) and fragment in channel:
            sent += 1
            yield RecordingSubscriptionDescriptor(
                control_session_id=control.session_id,
                correlation_id=correlation_id,
                subscription_id=source.subscription_id,
                stream_id=source.stream_id,
                stripped_channel=channel,
            ).encode()
    if sent < count:
        control.send_subscription_unknown(correlation_id)
