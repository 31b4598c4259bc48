"""Reference clients on our driver and on the reference's own: one body for both."""

from collections.abc import Callable

import peer
import pytest
from waits import wait_until

pytestmark = pytest.mark.interop

FAST = {
    "aeron.timer.interval": "100ms",
    "aeron.client.liveness.timeout": "4s",
    "aeron.publication.unblock.timeout": "4500ms",
    "aeron.image.liveness.timeout": "1s",
    "aeron.counters.free.to.reuse.timeout": "100ms",
}


@pytest.fixture(params=["ours", "reference"])
def fast_driver(request, start_server):
    """A driver of this test's own with short timeouts."""
    return start_server(request.param, "driver", properties=FAST)


def system_counter(client: peer.JavaAeron, counter_id: int) -> int:
    return next(c["value"] for c in client.counters() if c["id"] == counter_id)


def images_of(client: peer.JavaAeron, subscription: peer.JavaObject) -> Callable[[], list[str]]:
    """Tells what a client was told of the images of a subscription, which may be gone soon."""
    wanted, seen = subscription.registrationId(), []

    def told() -> list[str]:
        seen.extend(e["event"] for e in client.events() if e.get("subscription") == wanted)
        return seen

    return told


@pytest.mark.parametrize("kind", ["publication", "exclusive_publication"])
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:ipc?term-length=64k|sparse=false"])
def test_a_stream_passes_through_many_terms(any_driver, java_client, stream_id, kind, channel):
    client = java_client(any_driver.aeron_dir)
    publication = getattr(client, f"add_{kind}")(channel, stream_id)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    sending = publication.start_offer_numbered(20_000, 200)
    received = subscription.poll_numbered(20_000, 200)
    assert received["first_wrong"] is None
    assert received["position"] == sending.result(30)["position"] > 50 * 65_536


def test_two_clients_share_a_publication_and_both_subscribers_get_all(
    any_driver, java_client, stream_id
):
    one, other = (java_client(any_driver.aeron_dir) for _ in range(2))
    subscriptions = [c.add_subscription("aeron:ipc", stream_id) for c in (one, other)]
    first = one.add_publication("aeron:ipc", stream_id)
    second = other.add_publication("aeron:ipc?alias=second", stream_id)
    assert first.sessionId() == second.sessionId()
    first.offer(b"a" * 3000)
    second.offer(b"b")
    for subscription in subscriptions:
        assert [m["data"] for m in subscription.poll(2)] == [b"a" * 3000, b"b"]
    first.close()
    second.offer(b"c")
    assert [m["data"] for m in subscriptions[0].poll(1)] == [b"c"]


def test_a_late_subscriber_joins_where_the_others_are(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    publication = client.add_publication("aeron:ipc", stream_id)
    early = client.add_subscription("aeron:ipc", stream_id)
    publication.offer(b"one")
    early.poll(1)
    publication.offer(b"two")
    # The driver sees what was read after it has handled a command, so one comes between.
    client.add_subscription("aeron:ipc", stream_id + 50_000)
    late = client.add_subscription("aeron:ipc", stream_id)
    assert [m["data"] for m in late.poll(1)] == [b"two"]


def test_a_publisher_without_subscribers_is_not_connected(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    publication = client.add_publication("aeron:ipc", stream_id)
    assert publication.offer(b"lost", retry=False) == [-1]
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication.offer(b"kept")
    assert [m["data"] for m in subscription.poll(1)] == [b"kept"]
    subscription.close()
    wait_until(lambda: not publication.isConnected(), "the subscriber to go")


def test_a_slow_subscriber_holds_the_publisher_back(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    wait_until(lambda: publication.positionLimit() == 32_768, "the window as the limit")
    results = [publication.offer(bytes(1000), retry=False)[0] for _ in range(40)]
    assert results[:32] == [1056 * n for n in range(1, 33)]
    assert set(results[32:]) == {-2}
    subscription.poll(30)
    wait_until(lambda: publication.positionLimit() > 32_768, "room")


def test_an_image_ends_when_its_publication_is_closed(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_exclusive_publication("aeron:ipc", stream_id)
    publication.offer(b"last words")
    image = wait_until(subscription.images, "the image")[0]
    publication.close()
    assert [m["data"] for m in subscription.poll(1)] == [b"last words"]
    wait_until(lambda: not subscription.images(), "the image to go")
    assert image.isEndOfStream()
    assert image.isClosed()


def test_a_position_and_a_session_given_by_the_channel_are_kept(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_exclusive_publication(
        "aeron:ipc?session-id=-77|term-length=64k|init-term-id=-5|term-id=2|term-offset=96",
        stream_id,
    )
    assert publication.sessionId() == -77
    assert publication.position() == 7 * 65_536 + 96
    publication.offer(b"here")
    assert subscription.poll(1)[0]["position"] == 7 * 65_536 + 96 + 64


def test_requests_are_answered_on_a_response_channel(any_driver, java_client, stream_id):
    server, asker = (java_client(any_driver.aeron_dir) for _ in range(2))
    requests = server.add_subscription("aeron:ipc", stream_id)
    answers = asker.add_subscription("aeron:ipc?control-mode=response", stream_id + 3000)
    request = asker.add_exclusive_publication(
        f"aeron:ipc?response-correlation-id={answers.registrationId()}", stream_id
    )
    request.offer(b"question")
    requests.poll(1)
    image = requests.images()[0]
    answer = server.add_exclusive_publication(
        f"aeron:ipc?control-mode=response|response-correlation-id={image.correlationId()}",
        stream_id + 3000,
    )
    answer.offer(b"answer")
    assert [m["data"] for m in answers.poll(1)] == [b"answer"]


def test_counters_are_seen_by_everybody_and_freed_with_their_client(fast_driver, java_client):
    owner, watcher = (java_client(fast_driver.aeron_dir) for _ in range(2))
    added = owner.addCounter(1777, "a counter of mine")
    added.setRelease(42)

    def found():
        return [c for c in watcher.counters() if c["typeId"] == 1777]

    assert [(c["label"], c["value"]) for c in found()] == [("a counter of mine", 42)]
    owner.close()
    wait_until(lambda: not found(), "the counter to go")


def test_a_client_that_dies_is_cleaned_up_after_its_timeout(
    fast_driver, own_java_peer, java_client
):
    survivor = java_client(fast_driver.aeron_dir)
    subscription = survivor.add_subscription("aeron:ipc", 7)
    doomed = own_java_peer.connect(fast_driver.aeron_dir)
    publication = doomed.add_exclusive_publication("aeron:ipc", 7)
    doomed.add_subscription("aeron:ipc", 8)
    publication.offer(b"still there")
    own_java_peer.kill()
    assert [m["data"] for m in subscription.poll(1)] == [b"still there"]
    wait_until(lambda: not subscription.images(), "the image to go")
    assert system_counter(survivor, 24) == 1
    wait_until(lambda: {c["typeId"] for c in survivor.counters()} == {0, 11}, "its counters to go")


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_an_untethered_subscriber_is_left_behind_and_comes_back(
    start_server, java_client, implementation
):
    timeouts = {
        "aeron.untethered.window.limit.timeout": "500ms",
        # As long as the rest of the stream may take: it is not to come back in the middle.
        "aeron.untethered.resting.timeout": "2s",
    }
    client = java_client(
        start_server(implementation, "driver", properties=FAST | timeouts).aeron_dir
    )
    fast = client.add_subscription("aeron:ipc", 7)
    slow = client.add_subscription("aeron:ipc?tether=false", 7)
    publication = client.add_publication("aeron:ipc?term-length=64k", 7)
    wait_until(slow.images, "the image")
    sending = publication.start_offer_numbered(200, 1000)
    assert fast.poll_numbered(200, 1000)["first_wrong"] is None
    sending.result(60)
    told = images_of(client, slow)
    wait_until(
        lambda: told() == ["available_image", "unavailable_image", "available_image"],
        "the image to go and come",
    )
    publication.offer(b"again")
    assert [m["data"] for m in slow.poll(1)] == [b"again"]


@pytest.mark.error_log("onPublicationError")
def test_an_image_is_rejected_and_joined_again(fast_driver, java_client):
    client = java_client(fast_driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", 7)
    publication = client.add_publication("aeron:ipc", 7)
    publication.offer(b"x")
    told = images_of(client, subscription)
    image = wait_until(subscription.images, "the image")[0]
    image.reject("no more of this")
    wait_until(
        lambda: told() == ["available_image", "unavailable_image", "available_image"],
        "the image to go and come",
    )
    assert "no more of this" in peer.java_tool(
        "io.aeron.samples.ErrorStat", properties={"aeron.dir": fast_driver.aeron_dir}
    )


def test_session_ids_that_a_client_asks_for_are_free(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    wanted = client.nextSessionId(stream_id)
    publication = client.add_exclusive_publication(f"aeron:ipc?session-id={wanted}", stream_id)
    assert publication.sessionId() == wanted
    assert client.nextSessionId(stream_id) != wanted


@pytest.mark.error_log("Term length less than min length")
def test_a_channel_that_is_refused_raises_with_the_code(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    with pytest.raises(peer.JavaError, match="Term length less than min length") as caught:
        client.add_publication("aeron:ipc?term-length=1000", stream_id)
    assert caught.value.java_class == "RegistrationException"


def test_aeron_stat_shows_every_counter(any_driver, java_client, stream_id):
    client = java_client(any_driver.aeron_dir)
    client.add_publication("aeron:ipc?alias=shown", stream_id)
    picture = peer.aeron_stat(any_driver.aeron_dir)
    assert "Aeron software: version=1.51.0" in picture
    assert f"{stream_id} aeron:ipc?alias=shown" in picture
    assert "client-heartbeat: id=" in picture


def test_driver_tool_finds_the_driver_alive(any_driver):
    answer = peer.java_tool(
        "io.aeron.samples.DriverTool", "pid", properties={"aeron.dir": any_driver.aeron_dir}
    )
    assert str(any_driver.pid) in answer
