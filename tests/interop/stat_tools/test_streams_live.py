"""Streams of live drivers: who stands where, what limits them, what is recorded."""

import json

import pytest
from peer.streams import free_port

from aerolog.tools.main import main
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.stream_limits import LimitKind, limited_by
from aerolog.tools.views.stream_views import StreamView, streams

from .conftest import wait_until

pytestmark = pytest.mark.interop


def stream_of(aeron_dir: str, publication) -> StreamView:
    view = DriverView.open(aeron_dir)
    wanted = (publication.session_id, publication.stream_id)
    return next(
        s
        for s in streams(view.counters(), view.logs)
        if (s.session_id, s.stream_id) == wanted and s.publisher is not None
    )


def fill(publication) -> None:
    """Publishes until nothing more goes; at first the driver may have made no room yet."""
    wait_until(lambda: publication.is_connected, "the connection")
    while publication.offer(bytes(1000)) > 0:
        pass


@pytest.fixture(params=["ours", "reference"])
def server(request, session_servers):
    return session_servers(request.param, "driver")


def test_a_subscriber_that_does_not_read_is_named(server, our_client, stream_id):
    client = our_client(server.aeron_dir, name="lazy")
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_exclusive_publication("aeron:ipc?term-length=64k", stream_id)

    def told() -> str:
        fill(publication)
        return limited_by(stream_of(server.aeron_dir, publication)).text

    who = f"subscription {subscription.registration_id} of client {client.client_id} 'lazy'"
    wait_until(lambda: who in told(), "the slow subscriber's name")
    assert told().startswith("slow subscriber: ")


def test_a_subscriber_behind_the_network_is_named(server, our_client, stream_id):
    client = our_client(server.aeron_dir)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}"
    subscription = client.add_subscription(f"{channel}|rcv-wnd=32k", stream_id)
    publication = client.add_exclusive_publication(f"{channel}|term-length=64k", stream_id)

    def full() -> StreamView:
        fill(publication)
        return stream_of(server.aeron_dir, publication)

    wait_until(
        lambda: limited_by(full()).kind is LimitKind.SLOW_SUBSCRIBER, "what limits the stream"
    )
    found = full()
    assert [r.window_length for r in found.receivers] == [32 * 1024]
    assert f"subscription {subscription.registration_id} " in limited_by(found).text


def test_a_spy_that_does_not_read_is_named(server, our_client, stream_id):
    client = our_client(server.aeron_dir)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}"
    reader = client.add_subscription(channel, stream_id)
    spy = client.add_subscription(f"aeron-spy:{channel}", stream_id)
    publication = client.add_exclusive_publication(f"{channel}|term-length=64k", stream_id)
    wait_until(lambda: spy.is_connected and reader.is_connected, "the spy")

    def told() -> str:
        fill(publication)
        reader.poll(lambda *_: None, 1000)
        return limited_by(stream_of(server.aeron_dir, publication)).text

    wait_until(lambda: f"spy {spy.registration_id} " in told(), "the spy to be named")


def test_nobody_is_connected(server, our_client, stream_id):
    client = our_client(server.aeron_dir)
    for channel in ("aeron:ipc", f"aeron:udp?endpoint=localhost:{free_port()}"):
        publication = client.add_exclusive_publication(channel, stream_id)

        kind = limited_by(stream_of(server.aeron_dir, publication)).kind

        assert kind is LimitKind.NO_SUBSCRIBER


def test_a_recording_stands_in_its_stream(any_archive, our_archive_client, stream_id, capfd):
    archive = our_archive_client(any_archive.aeron_dir)
    aeron = archive.aeron
    with aeron.add_exclusive_publication("aeron:ipc", stream_id) as publication:
        channel = f"aeron:ipc?session-id={publication.session_id}"
        archive.start_recording(channel, stream_id)
        wait_until(lambda: publication.offer(bytes(1000)) > 0, "the recording")
        position = publication.position

        def recorded() -> bool:
            found = stream_of(any_archive.aeron_dir, publication).recordings
            return [r.position for r in found] == [position]

        wait_until(recorded, "all of it")
        capfd.readouterr()
        words = ("--json", "--stream", f"^{stream_id}$", "--aeron-dir", any_archive.aeron_dir)
        code = main(["streams", *words])
        (told,) = json.loads(capfd.readouterr().out)["streams"]
        with ArchiveView.open(any_archive.archive_dir) as view:
            counters = view.recording_counters(DriverView.open(any_archive.aeron_dir).counters())
            ids = [r.recording_id for r in view.recordings() if r.descriptor.stream_id == stream_id]
        archive.stop_recording(channel, stream_id)

    assert code == 0
    assert ids == [told["recordings"][0]["recording_id"]]
    assert [s["recording_id"] for s in told["subscribers"]] == ids
    assert counters.recordings[ids[0]].position == position
    assert view.archive_id == told["recordings"][0]["archive_id"]


def test_errors_of_an_archive_are_read(any_archive, capfd):
    code = main(["errors", "--json", "--archive-dir", str(any_archive.archive_dir)])

    assert code == 0
    assert isinstance(json.loads(capfd.readouterr().out)["errors"], list)
