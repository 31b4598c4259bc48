"""Every channel of the corpus parses, renders, builds and is answered as by the reference."""

from __future__ import annotations

import itertools
import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from golden_data import channel_uris
from shared_memory import memory_path

from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ChannelUriError, RegistrationError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The corpus keeps this much of an error text.
ERROR_TEXT_LENGTH = 220
STREAM_ID = 1001
TERM_LENGTH = 64 * 1024


ROWS = channel_uris()
ACCEPTED = [row for row in ROWS if row["channel_uri_accepted"]]
REFUSED = [row for row in ROWS if not row["channel_uri_accepted"]]
IPC_COMMANDS = [row for row in ROWS if row["uri"].startswith("aeron:ipc")]


def cases(rows: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[row["uri"][:120] for row in rows])


def reference_text(error: ChannelUriError) -> str:
    text = f"{error.reference_type.rpartition('.')[2]}: {error.reference_message}"
    return text[:ERROR_TEXT_LENGTH]


def test_the_corpus_has_both_accepted_and_refused_channels() -> None:
    assert len(ACCEPTED) > 200
    assert len(REFUSED) > 20
    assert len(IPC_COMMANDS) > 40


@cases(ACCEPTED)
def test_an_accepted_channel_has_the_parts_that_the_reference_finds(row: dict[str, Any]) -> None:
    uri = ChannelUri.parse(row["uri"])

    assert (uri.prefix, uri.media) == (row["prefix"], row["media"])
    assert dict(uri) == row["params"]
    assert (uri.channel_tag, uri.entity_tag) == (row["channel_tag"], row["entity_tag"])


@cases(ACCEPTED)
def test_an_accepted_channel_is_written_in_the_references_order(row: dict[str, Any]) -> None:
    uri = ChannelUri.parse(row["uri"])

    assert str(uri) == row["rendered"]
    assert ChannelUri.parse(str(uri)) == uri
    assert str(pickle.loads(pickle.dumps(uri))) == row["rendered"]


@cases(REFUSED)
def test_a_refused_channel_says_what_the_reference_says(row: dict[str, Any]) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.parse(row["uri"])

    assert reference_text(refused.value) == row["channel_uri_error"]


@cases([row for row in ACCEPTED if "builder_rendered" in row])
def test_the_builder_writes_what_the_references_builder_writes(row: dict[str, Any]) -> None:
    assert str(ChannelUri.parse(row["uri"]).build()) == row["builder_rendered"]


@cases([row for row in ACCEPTED if "builder_error" in row])
def test_the_builder_refuses_what_the_references_builder_refuses(row: dict[str, Any]) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.parse(row["uri"]).build()

    assert reference_text(refused.value) == row["builder_error"]


# -- what the driver answers ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    aeron_dir = memory_path("uris")
    with (
        MediaDriver(
            dir=str(aeron_dir),
            threading_mode="SHARED",
            ipc_term_buffer_length=TERM_LENGTH,
            term_buffer_length=TERM_LENGTH,
            publication_linger_timeout=0.0,
        ),
        Aeron(aeron_dir) as client,
    ):
        yield client
    shutil.rmtree(aeron_dir, ignore_errors=True)


_FRESH_STREAMS = itertools.count(20_000)


def stream_for(row: dict[str, Any]) -> int:
    """A stream of its own, unless the channel names the one that the corpus was made with."""
    return STREAM_ID if "stream-id=" in row["uri"] else next(_FRESH_STREAMS)


def check_refusal(refused: RegistrationError, expected: dict[str, Any]) -> None:
    assert (refused.code.name, refused.code_value) == (
        expected["error_code"],
        expected["error_code_value"],
    )
    text = refused.message.removeprefix("ERROR - ")
    if expected["text"].endswith("..."):  # the corpus has only the beginning of a long one
        expected_beginning = expected["text"].removesuffix("...")
        assert text[: len(expected_beginning)] == expected_beginning
    else:
        assert text == expected["text"]


@cases([row for row in IPC_COMMANDS if row["java_driver_add_publication"]["accepted"]])
def test_the_driver_accepts_an_ipc_publication(aeron: Aeron, row: dict[str, Any]) -> None:
    expected = row["java_driver_add_publication"]

    with aeron.add_publication(row["uri"], stream_for(row)) as publication:
        assert (publication.mtu, publication.term_length) == (
            expected["mtu"],
            expected["term_length"],
        )


@cases([row for row in IPC_COMMANDS if not row["java_driver_add_publication"]["accepted"]])
def test_the_driver_refuses_an_ipc_publication(aeron: Aeron, row: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError) as refused:
        aeron.add_publication(row["uri"], STREAM_ID)

    check_refusal(refused.value, row["java_driver_add_publication"])


@cases([row for row in IPC_COMMANDS if row["java_driver_add_subscription"]["accepted"]])
def test_the_driver_accepts_an_ipc_subscription(aeron: Aeron, row: dict[str, Any]) -> None:
    with aeron.add_subscription(row["uri"], stream_for(row)) as subscription:
        assert not subscription.closed


@cases([row for row in IPC_COMMANDS if not row["java_driver_add_subscription"]["accepted"]])
def test_the_driver_refuses_an_ipc_subscription(aeron: Aeron, row: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError) as refused:
        aeron.add_subscription(row["uri"], STREAM_ID)

    check_refusal(refused.value, row["java_driver_add_subscription"])
