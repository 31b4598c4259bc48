"""All messages of the schema by template id, and how an unknown one is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import (
    catalog_records,
    events,
    query_requests,
    recording_requests,
    replay_requests,
    replication_requests,
    responses,
    session_requests,
    storage_requests,
)
from aerolog.archive.protocol.enums import SCHEMA_ID
from aerolog.archive.protocol.layout import (
    HEADER,
    HEADER_LENGTH,
    Message,
    MessageHeader,
    messages_of,
)
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from aerolog.archive.protocol.layout import Buffer

MESSAGES: Final[dict[int, type[Message]]] = {
    each.LAYOUT.template_id: each
    for module in (
        responses,
        events,
        catalog_records,
        session_requests,
        recording_requests,
        replay_requests,
        query_requests,
        storage_requests,
        replication_requests,
    )
    for each in messages_of(module)
}


def decode(buffer: Buffer) -> Message | None:
    """The message at the start of a buffer, None when its template id is not of this schema.

    Both sides of the protocol ignore template ids that they do not know.

    Raises:
        MessageFormatError: another schema, or bytes that do not hold together.
    """
    if len(buffer) < HEADER_LENGTH:
        MessageHeader.read(buffer)  # says what is wrong
    block_length, template_id, schema_id, version = HEADER.unpack_from(buffer)
    if schema_id != SCHEMA_ID:
        raise MessageFormatError(f"expected schemaId={SCHEMA_ID}, actual={schema_id}")
    message_class = MESSAGES.get(template_id)
    return None if message_class is None else message_class.from_body(buffer, block_length, version)
