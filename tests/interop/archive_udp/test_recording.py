"""What archives record of UDP streams: by spying, by subscribing, with which descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from peer.client import JavaError
from waits import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
MANY = (
    "alias=a|tags={tag},8|session-id=99|ttl=2|cc=static|fc=min|gtag=5|tether=true|group=false|"
    "rejoin=true|so-sndbuf=128k|so-rcvbuf=131072|rcv-wnd=65536|term-length=64k|linger=0|eos=true|"
    "sparse=true|ssc=true|nak-delay=1ms|mtu=1408|reliable=true|response-endpoint=localhost:9|x=y"
)
MANY_STRIPPED = (
    "tags={tag},8|endpoint={endpoint}|session-id=99|ttl=2|alias=a|cc=static|fc=min|gtag=5|"
    "tether=true|group=false|rejoin=true|so-sndbuf=128k|so-rcvbuf=128k|rcv-wnd=64k|"
    "response-endpoint=localhost:9"
)


@pytest.fixture
def local(bench: Any, java_client: Callable[..., Any]) -> Any:
    """A reference client on the archive's own driver."""
    return java_client(bench.site.archive_aeron_dir)


def test_a_remote_recording_s_descriptor(bench: Any) -> None:
    recording_id, position = bench.recorded(20, 100)
    found = bench.descriptor(recording_id)
    source, _, port = found["sourceIdentity"].partition(":")
    assert source == HOST
    assert int(port) > 0
    expected = {
        "startPosition": 0,
        "stopPosition": position,
        "segmentFileLength": 131072,
        "termBufferLength": 65536,
        "mtuLength": 1408,
        "streamId": bench.stream_id,
        "strippedChannel": bench.channel.partition("|")[0],
        "originalChannel": bench.channel,
    }
    assert {name: found[name] for name in expected} == expected


def test_a_local_recording_spies_on_the_archive_s_driver(bench: Any, local: Any) -> None:
    channel = f"{bench.channel}|ssc=true|alias=spied"
    subscription_id = bench.record(channel, location="LOCAL")
    (listed,) = bench.archive.recording_subscriptions(
        channel="alias=spied", stream=bench.stream_id, apply_stream=True
    )
    stripped = f"{bench.channel.partition('|')[0]}|alias=spied"
    assert listed["strippedChannel"] == f"aeron-spy:{stripped}"
    publication = bench.publish(channel, client=local)
    position = publication.offer_numbered(1000, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    publication.close()
    assert bench.wait_stopped(recording_id) == position
    bench.archive.stopRecording(subscription_id)
    found = bench.descriptor(recording_id)
    assert (found["strippedChannel"], found["originalChannel"]) == (stripped, channel)
    assert found["sourceIdentity"] == "aeron:ipc"
    assert bench.signals(2) == [("START", 0), ("STOP", position)]
    replay = bench.replay_here(recording_id, 0, position)
    assert replay.poll_numbered(1000, 100)["first_wrong"] is None


def test_a_local_recording_does_not_see_publications_of_other_drivers(bench: Any) -> None:
    bench.record(location="LOCAL")
    subscription = bench.client.add_subscription(bench.channel, bench.stream_id)
    publication = bench.publish()
    publication.offer_numbered(10, 100)
    assert subscription.poll_numbered(10, 100)["first_wrong"] is None
    assert bench.recordings() == []
    bench.archive.stopRecording(bench.channel, bench.stream_id)


def test_a_local_recording_goes_on_beside_remote_subscribers(bench: Any, local: Any) -> None:
    subscription = bench.client.add_subscription(bench.channel, bench.stream_id)
    bench.record(location="LOCAL")
    publication = bench.publish(client=local)
    future = publication.start_offer_numbered(3000, 100)
    assert subscription.poll_numbered(3000, 100)["first_wrong"] is None
    position = future.result(30)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    bench.archive.stopRecording(bench.channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position


def test_channels_are_stripped_as_the_reference_strips_them(bench: Any) -> None:
    endpoint = bench.channel.partition("|")[0].partition("=")[2]
    names = {"endpoint": endpoint, "tag": bench.stream_id}
    channel = f"aeron:udp?endpoint={endpoint}|{MANY.format(**names)}"
    bench.record(channel)
    publication = bench.client.add_exclusive_publication(
        f"aeron:udp?endpoint={endpoint}|session-id=99|term-length=64k", bench.stream_id
    )
    wait_until(publication.isConnected, "the archive to subscribe")
    recording_id = bench.recording_id()
    found = bench.descriptor(recording_id)
    assert found["originalChannel"] == channel
    assert found["strippedChannel"] == f"aeron:udp?{MANY_STRIPPED.format(**names)}"
    assert found["sessionId"] == 99
    publication.close()
    bench.wait_stopped(recording_id)
    bench.archive.stopRecording(channel, bench.stream_id)


def test_a_dynamic_multi_destination_publication_is_recorded(bench: Any, address: Any) -> None:
    control = address()
    channel = f"aeron:udp?control-mode=dynamic|control={control}|term-length=64k"
    recorded = f"aeron:udp?endpoint={HOST}:0|control={control}|control-mode=dynamic"
    bench.record(recorded)
    publication = bench.publish(channel)
    position = publication.offer_numbered(1000, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    found = bench.descriptor(recording_id)
    assert (found["strippedChannel"], found["originalChannel"]) == (recorded, recorded)
    bench.archive.stopRecording(recorded, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    publication.close()


def test_a_wildcard_endpoint_is_recorded_as_it_was_asked_for(bench: Any) -> None:
    channel = f"aeron:udp?endpoint={HOST}:0"
    subscription_id = bench.record(channel)
    endpoint = wait_until(lambda: bench.site.bound_address(subscription_id), "the archive's port")
    publication = bench.publish(f"aeron:udp?endpoint={endpoint}|term-length=64k")
    position = publication.offer_numbered(10, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    found = bench.descriptor(recording_id)
    assert (found["strippedChannel"], found["originalChannel"]) == (channel, channel)
    bench.archive.stopRecording(channel, bench.stream_id)
    bench.wait_stopped(recording_id)
    publication.close()


def test_a_session_is_recorded_alone(bench: Any) -> None:
    other = bench.client.add_exclusive_publication(bench.channel, bench.stream_id)
    publication = bench.client.add_exclusive_publication(bench.channel, bench.stream_id)
    channel = f"{bench.channel}|session-id={publication.sessionId()}"
    bench.record(channel)
    wait_until(publication.isConnected, "the archive to subscribe")
    position = publication.offer_numbered(10, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    assert [r["sessionId"] for r in bench.recordings()] == [publication.sessionId()]
    with pytest.raises(JavaError) as refused:
        bench.archive.stopRecording(bench.channel, bench.stream_id)
    assert refused.value.code == 4
    bench.archive.stopRecording(channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    other.close()
    publication.close()


def test_a_late_archive_records_from_where_it_joins(bench: Any, address: Any) -> None:
    control = f"control-mode=dynamic|control={address()}"
    subscribed = f"aeron:udp?endpoint={HOST}:0|{control}"
    subscription = bench.client.add_subscription(subscribed, bench.stream_id)
    publication = bench.publish(f"aeron:udp?{control}|term-length=64k")
    offered = publication.start_offer_numbered(500, 100)
    joined = subscription.poll_numbered(500, 100)["position"]
    assert offered.result(30)["position"] == joined
    bench.record(subscribed)
    recording_id = bench.recording_id()
    offered = publication.start_offer_numbered(200, 100, first=500)
    assert subscription.poll_numbered(200, 100, first=500)["first_wrong"] is None
    position = offered.result(30)["position"]
    bench.wait_recorded(recording_id, position)
    assert bench.descriptor(recording_id)["startPosition"] == joined
    bench.archive.stopRecording(subscribed, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    replay = bench.replay_here(recording_id, joined, position - joined)
    assert replay.poll_numbered(200, 100, first=500)["position"] == position
    publication.close()
    subscription.close()


def test_an_extension_goes_on_where_the_recording_stopped(bench: Any) -> None:
    recording_id, stop = bench.recorded(1000, 100)
    initial = bench.descriptor(recording_id)["initialTermId"]
    term_id = (initial + stop // 65536 + 2**31) % 2**32 - 2**31
    channel = f"{bench.channel}|init-term-id={initial}|term-id={term_id}|term-offset={stop % 65536}"
    bench.archive.extendRecording(recording_id, channel, bench.stream_id, "REMOTE")
    publication = bench.publish(channel)
    position = publication.offer_numbered(1000, 100, first=1000)["position"]
    bench.wait_recorded(recording_id, position)
    assert ("EXTEND", stop) in bench.signals(3)
    bench.archive.stopRecording(channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    assert bench.descriptor(recording_id)["sessionId"] == publication.sessionId()
    replay = bench.replay_here(recording_id, 0, position)
    assert replay.poll_numbered(2000, 100)["position"] == position
    publication.close()


def test_two_archives_record_one_multicast_stream_alike(bench: Any, local: Any) -> None:
    port = bench.site.free_port()
    channel = f"aeron:udp?endpoint=224.20.30.39:{port}|interface=localhost|term-length=64k"
    bench.record(channel)
    subscription = local.add_subscription(channel, bench.stream_id)
    publication = bench.publish(channel)
    wait_until(subscription.isConnected, "the subscriber beside the archive")
    offered = publication.start_offer_numbered(1000, 100)
    assert subscription.poll_numbered(1000, 100)["first_wrong"] is None
    position = offered.result(30)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    stripped = f"aeron:udp?endpoint=224.20.30.39:{port}|interface=localhost"
    assert bench.descriptor(recording_id)["strippedChannel"] == stripped
    bench.archive.stopRecording(channel, bench.stream_id)
    assert bench.wait_stopped(recording_id) == position
    subscription.close()
    publication.close()


@pytest.mark.error_log(
    "Aeron URIs must start with",
    "URIs for UDP must specify",
    "address:port is required",
    "unresolved - endpoint",
)
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("aeron:udp?endpoint=localhost", "address:port is required for ipv4: localhost"),
        (
            "aeron:udp?endpoint=no.such.host.invalid:9",
            "unresolved - endpoint=no.such.host.invalid",
        ),
        ("aeron:udp", "URIs for UDP must specify an endpoint, control, tags, or"),
        ("udp:localhost:9", "Aeron URIs must start with 'aeron:'"),
    ],
)
def test_channels_that_cannot_be_recorded_are_refused(bench: Any, wrong: str, text: str) -> None:
    with pytest.raises(JavaError) as refused:
        bench.record(wrong)
    assert refused.value.code == 0
    assert text in refused.value.message
    assert bench.archive.getStopPosition(bench.recorded(1, 32)[0]) == 64


def test_events_tell_of_recordings_over_udp(bench: Any) -> None:
    events = bench.client.add_subscription(f"{bench.site.events}|endpoint={HOST}:0", 30)
    wait_until(events.isConnected, "the events stream")
    recording_id, position = bench.recorded(20, 100)
    found: list[dict[str, Any]] = []
    while not found or found[-1]["event"] != "stop":
        found += [
            event
            for event in bench.archive.recording_events(events, 1)
            if event["recordingId"] == recording_id
        ]
    assert (found[0]["event"], found[0]["startPosition"]) == ("start", 0)
    assert (found[0]["streamId"], found[0]["channel"]) == (bench.stream_id, bench.channel)
    assert found[0]["sourceIdentity"].startswith(f"{HOST}:")
    assert found[-1]["stopPosition"] == position
    events.close()
