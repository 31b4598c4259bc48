"""Control streams of live archives of both makes, captured, written as pcap, read by tshark."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from datagrams import CapturingNetwork, Tshark, tshark_or_skip, write_pcap
from peer.streams import free_port
from waits import wait_until

from aerolog.archive import protocol as ap
from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop
LONG = "aeron:ipc?alias=" + "q" * 3000
STREAM = 1001
# The kernel and the machine choose the ports: some have a dissector of another protocol by default.
FIRST = ("-o", "udp.try_heuristic_first:TRUE")
CLOSE_HEADER = ap.CloseSessionRequest(control_session_id=0).encode()[:8]


@pytest.fixture(scope="module")
def tshark(tmp_path_factory: pytest.TempPathFactory) -> Tshark:
    """tshark with our dissector."""
    return tshark_or_skip(tmp_path_factory.mktemp("wireshark"))


def work_with(archive: AeronArchive, aeron: Aeron) -> None:
    """Requests of several kinds; one is refused, some messages take several fragments."""
    archive.start_recording(LONG, STREAM)
    with pytest.raises(ArchiveError):
        archive.start_position(99)
    publication = aeron.add_publication("aeron:udp?endpoint=127.0.0.1:1|alias=other", STREAM)
    archive.find_last_matching_recording(0, "ipc", STREAM, 5)
    list(archive.list_recording_subscriptions())
    archive.stop_recording(LONG, STREAM)
    publication.close()


@pytest.fixture(params=["ours", "reference"])
def capture(
    request: pytest.FixtureRequest, start_server: Any, aeron_dir: Path, tmp_path: Path
) -> Path:
    """A capture of a client's session with an archive of either make."""
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port('127.0.0.1')}"
    start_server(
        request.param,
        "archiving-driver",
        properties={
            "aeron.archive.control.channel": control,
            "aeron.archive.control.channel.enabled": "true",
        },
    )
    network = CapturingNetwork()
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            MediaDriver(
                aeron_dir, threading_mode="SHARED", network=network, term_buffer_length="64k"
            )
        )
        aeron = stack.enter_context(Aeron.connect(str(aeron_dir)))
        archive = AeronArchive(
            aeron,
            request_channel=control,
            response_channel=f"aeron:udp?endpoint=127.0.0.1:{free_port('127.0.0.1')}",
        )
        work_with(archive, aeron)
        seen = network.take()
        archive.close()

        def closed() -> bool:
            seen.extend(network.take())
            return any(CLOSE_HEADER in datagram.data for datagram in seen)

        wait_until(closed, "the session's end to be sent")
    return write_pcap(tmp_path / "control.pcap", seen)


def of(found: list[dict[str, Any]], message: type[ap.Message]) -> list[dict[str, Any]]:
    """The messages of one kind."""
    return [each for each in found if each["template_id"] == str(message.LAYOUT.template_id)]


def test_the_whole_conversation_is_shown(capture: Path, tshark: Tshark) -> None:
    found = tshark.archive_messages(capture, *FIRST)

    for message in (
        ap.AuthConnectRequest,
        ap.StartRecordingRequest,
        ap.StartPositionRequest,
        ap.FindLastMatchingRecordingRequest,
        ap.ListRecordingSubscriptionsRequest,
        ap.RecordingSubscriptionDescriptor,
        ap.StopRecordingRequest,
        ap.CloseSessionRequest,
    ):
        assert of(found, message), f"no {message.__name__} in {found}"
    start = of(found, ap.StartRecordingRequest)[0]
    assert start["channel"] == LONG
    assert start["stream_id"] == str(STREAM)
    assert int(start["fragments"]) >= 3


def test_answers_belong_to_their_requests(capture: Path, tshark: Tshark) -> None:
    found = tshark.archive_messages(capture, *FIRST)

    asked = of(found, ap.StartPositionRequest)[0]
    answer = next(
        each
        for each in of(found, ap.ControlResponse)
        if each["correlation_id"] == asked["correlation_id"]
    )
    assert asked["recording_id"] == "99"
    assert answer["code"] == "1"
    assert answer["error_message"] == "unknown recording id: 99"
    assert answer["control_session_id"] == asked["control_session_id"]
    described = of(found, ap.RecordingSubscriptionDescriptor)[0]
    assert described["stripped_channel"].startswith("aeron:ipc")
    unknown = 'aeron_archive.error_message contains "unknown"'
    text = tshark.run("-r", str(capture), *FIRST, "-Y", unknown)
    assert text.count("\n") >= 1
    assert "ControlResponse" in text
