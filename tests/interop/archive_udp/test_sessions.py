"""Control sessions over UDP: who they are, and how they end."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import pytest
from peer.client import JavaError
from waits import wait_until

from aerolog.archive.client import AeronArchive, ArchiveClientOptions, ArchiveConnection
from aerolog.archive.protocol import PROTOCOL_VERSION, AuthConnectRequest
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.errors import AerologError, AeronTimeoutError, ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log("controlSessionId=", "onPublicationError", at_times=True),
]
HOST = "127.0.0.1"
SESSIONS = ArchiveCounterType.CONTROL_SESSIONS
SESSION = ArchiveCounterType.CONTROL_SESSION


def session_counters(site: Any) -> dict[int, Any]:
    """Counters of control sessions by the session's id."""
    return {
        struct.unpack_from("<q", c.key, 8)[0]: c for c in site.counters() if c.type_id == SESSION
    }


@pytest.fixture
def ours(site: Any, our_client: Callable[..., Any]) -> AeronArchive:
    """A session of ours over UDP."""
    return AeronArchive(
        our_client(site.elsewhere.aeron_dir),
        request_channel=site.control,
        response_channel=site.responses,
        name="ours",
        message_timeout=30,
    )


def test_a_session_s_counter_says_whence_it_is(site: Any, bench: Any, ours: AeronArchive) -> None:
    with ours:
        counters = session_counters(site)
        own = counters[ours.control_session_id]
        assert re.fullmatch(
            r"control-session: name=ours version=\S+ commit=\S+ sourceIdentity=127\.0\.0\.1:\d+"
            r" sessionId=-?\d+ - archiveId=77",
            own.label,
        )
        theirs = counters[bench.archive.control_session_id]
        assert "sourceIdentity=127.0.0.1:" in theirs.label
        assert own.value == ours.control_session_id
    gone = ours.options.name
    wait_until(
        lambda: not [c for c in session_counters(site).values() if gone in c.label], "its end"
    )


def test_requests_and_answers_longer_than_a_datagram(bench: Any, ours: AeronArchive) -> None:
    alias = "".join(f"{i:05d}" for i in range(700))
    channel = f"{bench.channel}|alias={alias}"
    with ours:
        ours.start_recording(channel, bench.stream_id)
        (listed,) = ours.list_recording_subscriptions(stream_id=bench.stream_id)
        assert alias in listed.stripped_channel
        ours.stop_recording(channel, bench.stream_id)


def test_a_client_that_closes_ends_its_session(site: Any, ours: AeronArchive) -> None:
    session_id = ours.control_session_id
    assert session_id in session_counters(site)
    ours.close()
    wait_until(lambda: session_id not in session_counters(site), "the session to end")


def test_a_client_that_dies_ends_its_session(site: Any, own_java_peer: Any) -> None:
    client = own_java_peer.connect(site.elsewhere.aeron_dir)
    archive = client.archive(request_channel=site.control, response_channel=site.responses)
    session_id = archive.control_session_id
    assert session_id in session_counters(site)
    own_java_peer.kill()
    wait_until(lambda: session_id not in session_counters(site), "the session to end", 30)


def test_a_recording_outlives_the_session_that_started_it(bench: Any, ours: AeronArchive) -> None:
    from aerolog.archive.client import SourceLocation

    with ours:
        subscription_id = ours.start_recording(
            bench.channel, bench.stream_id, SourceLocation.REMOTE
        )
    publication = bench.publish()
    position = publication.offer_numbered(10, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    bench.archive.stopRecording(subscription_id)
    assert bench.wait_stopped(recording_id) == position
    publication.close()


def test_responses_nobody_listens_to_end_the_session_and_the_request_stream(
    site: Any, our_client: Callable[..., Any], address: Any
) -> None:
    aeron = our_client(site.elsewhere.aeron_dir)
    requests = aeron.add_exclusive_publication(f"{site.control}|term-length=64k", 10)
    requests.wait_connected(30)
    before = set(session_counters(site))
    request = AuthConnectRequest(
        correlation_id=1,
        response_stream_id=20,
        version=PROTOCOL_VERSION,
        response_channel=f"aeron:udp?endpoint={address()}",
        encoded_credentials=b"",
        client_info="nobody",
    )
    wait_until(lambda: requests.offer(request.encode()) > 0, "room for the request")
    wait_until(lambda: set(session_counters(site)) - before, "the session")
    wait_until(lambda: set(session_counters(site)) <= before, "the session to be given up")
    wait_until(lambda: not requests.is_connected, "the requests to be refused")


def test_a_response_channel_that_cannot_be_gives_no_answer(site: Any, our_client: Any) -> None:
    options = ArchiveClientOptions(
        request_channel=site.control,
        response_channel="aeron:ipc",
        message_timeout=3,
    )
    connection = ArchiveConnection(our_client(site.elsewhere.aeron_dir), options)
    # The archive answers over IPC of its own driver, on which nobody listens.
    with pytest.raises(AeronTimeoutError, match="step=AWAIT_SUBSCRIPTION_CONNECTED"):
        while connection.poll() is None:
            pass


def test_an_archive_that_is_not_there_is_told_in_time(
    site: Any, our_client: Any, address: Any
) -> None:
    with pytest.raises(AeronTimeoutError, match="step=AWAIT_PUBLICATION_CONNECTED"):
        AeronArchive(
            our_client(site.elsewhere.aeron_dir),
            request_channel=f"aeron:udp?endpoint={address()}",
            response_channel=site.responses,
            message_timeout=3,
        )


@pytest.mark.processes_end(at_times=True)
def test_clients_notice_an_archive_that_ends_and_connect_to_the_next(
    site: Any, sites: Any, java_client: Any, our_client: Any, address: Any
) -> None:
    control = f"aeron:udp?endpoint={address()}"
    events = f"aeron:udp?endpoint={address()}"
    options = {"request_channel": control, "response_channel": site.responses}
    aeron = our_client(site.elsewhere.aeron_dir)
    java = java_client(site.elsewhere.aeron_dir)
    first = sites.start_archive(site.archive_make, site.driver_make, control, events)
    ours = AeronArchive(aeron, **options, message_timeout=30)
    theirs = java.archive(**options)
    archive_id = ours.archive_id
    assert first.process.stop() == 0
    wait_until(lambda: ours.is_disconnected or ours.poll() < 0, "our client to notice", 30)
    with pytest.raises(AerologError, match="closed|connected|no longer available"):
        ours.list_recording(0)
    wait_until(lambda: theirs.pollForErrorResponse() == "not connected", "theirs to notice", 30)
    with pytest.raises(JavaError):
        theirs.getStopPosition(0)
    ours.close()
    second = sites.start_again(first)
    with AeronArchive(aeron, **options, message_timeout=20) as again:
        assert again.archive_id == archive_id
        with pytest.raises(ArchiveError, match="unknown recording id: 0"):
            again.stop_position(0)
    assert second.process.stop() == 0
