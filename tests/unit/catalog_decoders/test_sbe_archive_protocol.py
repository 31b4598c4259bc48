"""SBE on the archive's own protocol: what a reference archive and its clients sent each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from golden_data import control_messages

from aerolog.archive.protocol.events import (
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
)
from aerolog.catalog import open_recording
from aerolog.catalog.decoders import (
    Decoder,
    DecodeTotals,
    check_decoded,
    decoded_batches,
    make_decoder,
)
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

XML = Path(__file__).with_name("archive-codecs.xml")


@pytest.fixture(scope="module")
def messages() -> list[dict[str, Any]]:
    return control_messages()


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return make_decoder("sbe", {"schema_file": str(XML)})


def payloads(messages: list[dict[str, Any]]) -> pa.BinaryArray:
    return pa.array([bytes.fromhex(message["hex"]) for message in messages], pa.binary())


def expected(name: str, value: Any) -> Any:
    """A value of the transcript as the decoder gives it."""
    if not isinstance(value, dict):
        return None if name == "version" and value == 0 else value
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    return value.get("name", value["value"])


def test_every_recorded_message_decodes_to_its_fields(
    messages: list[dict[str, Any]], decoder: Decoder
) -> None:
    decoded = decoder.decode(payloads(messages))
    check_decoded(decoded, decoder, len(messages))
    for index, row in zip(decoded.source.to_pylist(), decoded.columns.to_pylist(), strict=True):
        message = messages[index]
        assert row["message"] == message["name"]
        fields = row[message["name"]]
        wanted = {name: expected(name, value) for name, value in message["fields"].items()}
        assert {name: fields[name] for name in wanted} == wanted, message["seq"]
        others = [name for name in row if name not in {"message", message["name"]}]
        assert all(row[name] is None for name in others)
    assert decoded.columns.num_rows == 693


def test_what_is_invalid_on_purpose_is_rejected(
    messages: list[dict[str, Any]], decoder: Decoder
) -> None:
    rejects = decoder.decode(payloads(messages)).rejects
    assert [(reject.index, reject.reason) for reject in rejects] == [
        (117, "unknown template 999"),
        (118, "schema id 102, expected 101"),
        (119, "schema changed: sourceLocation has no value 9"),
    ]


def test_older_versions_have_nulls_for_what_came_later(
    messages: list[dict[str, Any]], decoder: Decoder
) -> None:
    old = [message for message in messages if message["seq"] in {553, 582}]
    assert [message["header"]["version"] for message in old] == [6, 11]
    rows = decoder.decode(payloads(old)).columns.to_pylist()
    replay = rows[0]["ReplayRequest"]
    assert replay["fileIoMaxLength"] is None
    assert replay["replayToken"] is None
    assert replay["replayChannel"] == old[0]["fields"]["replayChannel"]
    connect = rows[1]["AuthConnectRequest"]
    assert connect["clientInfo"] is None
    assert connect["responseChannel"] == old[1]["fields"]["responseChannel"]


def test_one_template_of_a_stream_is_chosen_by_name(messages: list[dict[str, Any]]) -> None:
    decoder = make_decoder("sbe", {"schema_file": str(XML), "message": "RecordingSignalEvent"})
    decoded = decoder.decode(payloads(messages))
    check_decoded(decoded, decoder, len(messages))
    signals = [message for message in messages if message["name"] == "RecordingSignalEvent"]
    assert decoded.columns.column("position").to_pylist() == [
        message["fields"]["position"] for message in signals
    ]
    assert decoded.columns.column("signal").to_pylist() == [
        message["fields"]["signal"]["name"] for message in signals
    ]
    assert "template 58, AuthConnectRequest, is not among the messages to decode" in {
        reject.reason for reject in decoded.rejects
    }


@pytest.mark.parametrize("length", range(0, 60, 7))
def test_messages_cut_short_are_rejected(
    messages: list[dict[str, Any]], decoder: Decoder, length: int
) -> None:
    whole = [message for message in messages if message["seq"] not in {117, 118, 119}]
    cut = pa.array([bytes.fromhex(message["hex"])[:length] for message in whole], pa.binary())
    decoded = decoder.decode(cut)
    check_decoded(decoded, decoder, len(whole))
    complete = {
        index
        for index, message in enumerate(whole)
        if message["length"] - message["trailing_zero_bytes"] <= length
    }
    assert set(decoded.source.to_pylist()) == complete


def event_stream() -> Iterator[bytes]:
    yield RecordingStarted(
        recording_id=5,
        start_position=0,
        session_id=77,
        stream_id=10,
        channel="aeron:ipc?alias=flüge",
        source_identity="aeron:ipc",
    ).encode()
    for position in range(64, 64 * 400, 64):
        yield RecordingProgress(recording_id=5, start_position=0, position=position).encode()
    yield b"not an event"
    yield RecordingStopped(recording_id=5, start_position=0, stop_position=25600).encode()


def test_a_recorded_events_stream_is_read_back(tmp_path: Path) -> None:
    """A recording of recording events, from its segments to rows and rejects with positions."""
    builder = RecordingBuilder()
    positions = [builder.add(event) for event in event_stream()]
    recording_id = builder.write(tmp_path)
    options = {"schema_file": str(XML), "message": "RecordingStarted,102,RecordingStopped"}
    decoder = make_decoder("sbe", options)
    totals = DecodeTotals()
    with open_recording(tmp_path, recording_id) as recording:
        parts = list(decoded_batches(recording.to_batches(rows_max=100), decoder, totals=totals))
    rows = pa.Table.from_batches([rows for rows, _ in parts]).to_pylist()
    rejects = pa.Table.from_batches([rejects for _, rejects in parts]).to_pylist()
    assert totals.messages == len(positions) == totals.rows + totals.rejects
    assert [row["message"] for row in rows[:2]] == ["RecordingStarted", "RecordingProgress"]
    assert rows[0]["RecordingStarted"]["channel"] == "aeron:ipc?alias=fl?ge"
    assert rows[-1]["RecordingStopped"]["stopPosition"] == 64 * 400
    assert [row["RecordingProgress"]["position"] for row in rows[1:-1]] == list(
        range(64, 64 * 400, 64)
    )
    # The column of the scan says where a message is, the field of the message where it tells of.
    assert [row["position"] for row in rows] == [*positions[:-2], positions[-1]]
    assert rejects == [
        {
            "recording_id": recording_id,
            "position": positions[-2],
            "reason": "schema id 28257, expected 101",
            "payload": b"not an event",
        }
    ]
