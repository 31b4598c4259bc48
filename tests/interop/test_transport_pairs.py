"""Publishers and subscribers of either implementation meet over IPC on either driver."""

import peer
import pytest
from peer.client import numbered_message

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"
COUNT = 3000
LENGTH = 104


def test_java_publisher_reaches_java_subscriber(any_driver, peer_client, stream_id):
    publisher, subscriber = peer_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    subscription = subscriber.add_subscription(CHANNEL, stream_id)
    publication = publisher.add_publication(CHANNEL, stream_id)
    sent = publication.start_offer_numbered(COUNT, LENGTH)
    got = subscription.poll_numbered(COUNT, LENGTH)
    assert got == {"count": COUNT, "position": sent.result(30)["position"], "first_wrong": None}


def test_java_exclusive_publisher_reaches_java_subscriber(any_driver, peer_client, stream_id):
    client = peer_client(any_driver.aeron_dir)
    subscription = client.add_subscription(CHANNEL, stream_id)
    publication = client.add_exclusive_publication(CHANNEL, stream_id)
    sent = publication.start_offer_numbered(COUNT, LENGTH)
    got = subscription.poll_numbered(COUNT, LENGTH)
    assert got == {"count": COUNT, "position": sent.result(30)["position"], "first_wrong": None}


def test_java_publisher_reaches_our_subscriber(any_driver, peer_client, our_client, stream_id):
    subscription = our_client(any_driver.aeron_dir).add_subscription(CHANNEL, stream_id)
    publication = peer_client(any_driver.aeron_dir).add_publication(CHANNEL, stream_id)
    sent = publication.start_offer_numbered(COUNT, LENGTH)
    messages = []
    for message in subscription.messages(timeout=30.0):
        messages.append(message)
        if len(messages) == COUNT:
            break
    assert [m.data for m in messages] == [numbered_message(i, LENGTH) for i in range(COUNT)]
    assert messages[-1].position == sent.result(30)["position"]


@pytest.mark.parametrize("kind", ["add_publication", "add_exclusive_publication"])
def test_our_publisher_reaches_java_subscriber(
    any_driver, peer_client, our_client, stream_id, kind
):
    subscription = peer_client(any_driver.aeron_dir).add_subscription(CHANNEL, stream_id)
    publication = getattr(our_client(any_driver.aeron_dir), kind)(CHANNEL, stream_id)
    received = subscription.start_poll_numbered(COUNT, LENGTH)
    for index in range(COUNT):
        position = publication.send(numbered_message(index, LENGTH), timeout=30.0)
    assert received.result(40) == {"count": COUNT, "position": position, "first_wrong": None}


@pytest.mark.c_driver
@pytest.mark.parametrize("kind", ["add_publication", "add_exclusive_publication"])
def test_our_publisher_reaches_our_subscriber(any_driver, our_client, stream_id, kind):
    subscription = our_client(any_driver.aeron_dir).add_subscription(CHANNEL, stream_id)
    publication = getattr(our_client(any_driver.aeron_dir), kind)(CHANNEL, stream_id)
    publication.wait_connected(30.0)
    got = []
    for index in range(COUNT):
        while publication.offer(numbered_message(index, LENGTH)) <= 0:
            got += subscription.poll_messages(64)
    got += next_messages(subscription, COUNT - len(got))
    assert [m.data for m in got] == [numbered_message(i, LENGTH) for i in range(COUNT)]
    assert got[-1].position == publication.position


def test_fragmented_messages_and_reserved_values_cross_both_ways(
    any_driver, peer_client, our_client, stream_id
):
    ours, theirs = our_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    their_subscription = theirs.add_subscription(CHANNEL, stream_id)
    our_subscription = ours.add_subscription(CHANNEL, stream_id)
    our_publication = ours.add_publication(CHANNEL, stream_id)
    big = bytes(range(256)) * 30  # more than one MTU, less than an eighth of a term
    our_publication.wait_connected(30.0)
    our_position = our_publication.send(big, timeout=30.0, reserved_value=77)
    (at_theirs,) = their_subscription.poll(1)
    (at_ours,) = next_messages(our_subscription, 1)
    assert at_theirs["data"] == at_ours.data == big
    assert at_theirs["position"] == at_ours.position == our_position
    assert at_theirs["reservedValue"] == at_ours.reserved_value == 77

    their_publication = theirs.add_publication(CHANNEL, stream_id)
    (their_position,) = their_publication.offer(big, reserved_value=-5)
    (at_theirs,) = their_subscription.poll(1)
    (at_ours,) = next_messages(our_subscription, 1)
    assert at_theirs["data"] == at_ours.data == big
    assert at_theirs["position"] == at_ours.position == their_position
    assert at_ours.reserved_value == -5


def test_shared_publications_of_both_kinds_write_one_log(
    any_driver, peer_client, our_client, stream_id
):
    ours = our_client(any_driver.aeron_dir)
    subscription = ours.add_subscription(CHANNEL, stream_id)
    our_publication = ours.add_publication(CHANNEL, stream_id)
    their_publication = peer_client(any_driver.aeron_dir).add_publication(CHANNEL, stream_id)
    assert their_publication.sessionId() == our_publication.session_id
    our_publication.wait_connected(30.0)
    for index in range(50):
        our_publication.send(b"ours-%d" % index, timeout=30.0)
        their_publication.offer(b"theirs-%d" % index)
    got = [m.data for m in next_messages(subscription, 100)]
    assert got == [b"%s-%d" % (side, i) for i in range(50) for side in (b"ours", b"theirs")]
    assert len(subscription.images) == 1


def test_claims_and_aborts_look_alike(any_driver, peer_client, our_client, stream_id):
    ours, theirs = our_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    subscription = theirs.add_subscription(CHANNEL, stream_id)
    publication = ours.add_exclusive_publication(CHANNEL, stream_id)
    publication.wait_connected(30.0, writable=True)
    with publication.try_claim(5) as claim:
        claim.buffer[:] = b"first"
    dropped = publication.try_claim(100)
    dropped.abort()
    with publication.try_claim(6) as claim:
        claim.buffer[:] = b"second"
    messages = subscription.poll(2)
    assert [m["data"] for m in messages] == [b"first", b"second"]
    assert messages[-1]["position"] == publication.position


def test_end_of_stream_is_seen_across(any_driver, peer_client, our_client, stream_id):
    ours, theirs = our_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    subscription = theirs.add_subscription(CHANNEL, stream_id)
    publication = ours.add_publication(CHANNEL, stream_id)
    publication.wait_connected(30.0)
    publication.send(b"last", timeout=30.0)
    publication.close()
    assert [m["data"] for m in subscription.poll(10, until_eos=True)] == [b"last"]

    our_subscription = ours.add_subscription(CHANNEL, stream_id + 100_000)
    their_publication = theirs.add_publication(CHANNEL, stream_id + 100_000)
    their_publication.offer(b"last")
    their_publication.close()
    got = [m.data for m in our_subscription.messages(timeout=30.0, until_eos=True)]
    assert got == [b"last"]


def test_counters_are_shared_between_clients(any_driver, peer_client, our_client, stream_id):
    # A closed client's counters stay for up to a second, so each test has types of its own.
    of_ours, of_theirs = stream_id + 100_000, stream_id + 200_000
    ours, theirs = our_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    counter = ours.add_counter(of_ours, "made by ours", b"key-of-ours")
    counter.value = 42
    (seen,) = [c for c in theirs.counters() if c["typeId"] == of_ours]
    assert (seen["label"], seen["value"]) == ("made by ours", 42)
    assert seen["key"] == b"key-of-ours".ljust(112, b"\0").hex()
    assert seen["registrationId"] == counter.registration_id
    theirs.call("addCounter", of_theirs, "made by theirs").setRelease(7)
    (found,) = [c for c in ours.counters.infos() if c.type_id == of_theirs]
    assert (found.label, found.value) == ("made by theirs", 7)


@pytest.mark.error_log("Invalid argument", "Term length less than min length")
def test_a_refused_channel_gives_the_same_error_to_both(any_driver, peer_client, our_client):
    from aerolog.transport.errors import RegistrationError

    ours, theirs = our_client(any_driver.aeron_dir), peer_client(any_driver.aeron_dir)
    with pytest.raises(RegistrationError) as our_error:
        ours.add_publication("aeron:ipc?term-length=1000", 5)
    with pytest.raises(peer.JavaError) as their_error:
        theirs.add_publication("aeron:ipc?term-length=1000", 5)
    assert our_error.value.code_value == their_error.value.code
    assert our_error.value.message in their_error.value.message
    word = "term" if any_driver.implementation.startswith("c") else "Term"  # each driver's own text
    assert f"{word} length" in our_error.value.message


@pytest.mark.c_driver
def test_aeron_stat_reads_the_driver_s_directory(any_driver, our_client, stream_id):
    client = our_client(any_driver.aeron_dir)
    subscription = client.add_subscription(CHANNEL, stream_id)
    publication = client.add_publication(CHANNEL, stream_id)
    publication.wait_connected(30.0)
    publication.send(b"x" * 100, timeout=30.0)
    next_messages(subscription, 1)
    shown = peer.aeron_stat(any_driver.aeron_dir)
    assert f"pub-pos (concurrent): {publication.registration_id}" in shown
    assert f"pub-lmt: {publication.registration_id} {publication.session_id} {stream_id}" in shown
    assert f"sub-pos: {subscription.registration_id} {publication.session_id}" in shown
    assert f"client-heartbeat: id={client.client_id}" in shown
    assert "Bytes sent" in shown


def next_messages(subscription, count, timeout=30.0):
    """The next messages, waited for."""
    got = []
    for message in subscription.messages(timeout=timeout):
        got.append(message)
        if len(got) == count:
            break
    return got
