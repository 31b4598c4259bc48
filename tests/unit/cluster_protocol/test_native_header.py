"""The numbers of session_header.pxd are those of the message tables."""

from pathlib import Path

from native_constants import native_constants

from aerolog.cluster import protocol
from aerolog.cluster.protocol import SessionKeepAlive, SessionMessageHeader
from aerolog.transport.protocol.sbe import HEADER_LENGTH

NATIVE = native_constants(Path(protocol.__file__).with_name("session_header.pxd"))


def test_the_header_of_a_session_s_message() -> None:
    table = SessionMessageHeader.LAYOUT
    at = {field.name: HEADER_LENGTH + field.offset for field in table.fixed}
    assert NATIVE["TERM_ID_OFFSET"] == at["leadership_term_id"]
    assert NATIVE["SESSION_ID_OFFSET"] == at["cluster_session_id"]
    assert NATIVE["TIMESTAMP_OFFSET"] == at["timestamp"]
    assert NATIVE["SESSION_MESSAGE"] == table.template_id
    assert NATIVE["SESSION_MESSAGE_BLOCK"] == table.block_length
    assert NATIVE["SESSION_HEADER_LENGTH"] == protocol.SESSION_HEADER_LENGTH
    assert NATIVE["SCHEMA_ID"] == protocol.SCHEMA_ID
    assert NATIVE["SCHEMA_VERSION"] == table.schema.version


def test_a_sign_of_life_has_the_same_fields_first() -> None:
    table = SessionKeepAlive.LAYOUT
    at = {field.name: HEADER_LENGTH + field.offset for field in table.fixed}
    assert NATIVE["KEEP_ALIVE"] == table.template_id
    assert NATIVE["KEEP_ALIVE_BLOCK"] == table.block_length
    assert NATIVE["TERM_ID_OFFSET"] == at["leadership_term_id"]
    assert NATIVE["SESSION_ID_OFFSET"] == at["cluster_session_id"]
