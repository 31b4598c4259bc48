"""All forms of polling deliver the same, and programs may interrupt, close and begin anew."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from aerolog.archive.client import FROM_START, LiveJoined, PersistentSubscriptionListener
from aerolog.transport.client import Action
from aerolog.transport.errors import JoinErrorReason, PersistentSubscriptionError

LENGTH = 200


@dataclass
class Payload:
    data: bytes


def by_handler(stream):
    def poll(limit):
        found = []
        stream.poll(lambda data, _: found.append(Payload(bytes(data))), limit)
        return found

    return poll


def by_controlled_handler(stream):
    """Every other message is refused once."""
    refused = []

    def poll(limit):
        found = []

        def handle(data, header):
            if header.position not in refused and header.position // 32 % 2:
                refused.append(header.position)
                return Action.ABORT
            found.append(Payload(bytes(data)))
            return Action.CONTINUE

        stream.poll_controlled(handle, limit)
        return found

    return poll


def by_buffers(stream):
    data, offsets = bytearray(1 << 16), memoryview(bytearray(8 * 65)).cast("q")

    def poll(limit):
        count = stream.poll_into(data, offsets, limit=limit)
        return [Payload(bytes(data[offsets[i] : offsets[i + 1]])) for i in range(count)]

    return poll


def by_arrow(stream):

    def poll(limit):
        batch = stream.poll_arrow(limit)
        if batch is None:
            return []
        return [Payload(value) for value in pa.record_batch(batch).column("data").to_pylist()]

    return poll


def by_array(stream):
    dtype = np.dtype(f"S{LENGTH}")

    def poll(limit):
        rows = stream.poll_array(np.dtype((np.void, dtype.itemsize)), limit=limit)
        return [] if rows is None else [Payload(row.tobytes()) for row in rows]

    return poll


def by_messages(stream):
    return stream.poll_messages


@pytest.mark.parametrize("medium", ["udp", "ipc"])
@pytest.mark.parametrize(
    "form", [by_messages, by_handler, by_controlled_handler, by_buffers, by_arrow, by_array]
)
def test_every_form_delivers_each_message_once(make_world, medium, form):
    world = make_world(5, medium, count=1500, body_length=LENGTH - 12 if form is by_array else None)
    stream = world.follow()
    world.read_with(form(stream))
    world.direct(2)
    world.finish()
    world.run(lambda: stream.is_live)
    assert world.received == 1500
    stream.close()


@pytest.fixture
def joined(make_world):
    """A world whose follower has read everything, and the writer is silent."""
    world = make_world(6, "ipc", count=200)
    stream = world.follow()
    reader = world.read_with(stream.poll_messages)
    world.finish()
    world.run(lambda: stream.is_live)
    world.simulation.remove_party(reader)
    yield world, stream
    stream.close()


def test_a_handler_that_raises_has_had_its_message(joined):
    world, stream = joined
    world.count += 5
    world.run(lambda: world.sent == world.count)
    got = []

    def handle(data, _):
        got.append(int.from_bytes(data[:8], "little"))
        if len(got) == 2:
            raise LookupError("of the program")

    with pytest.raises(LookupError):
        stream.poll(handle)
    while stream.poll(handle):  # each ends with its term at the latest
        pass
    assert got == [200, 201, 202, 203, 204]
    assert not stream.has_failed


def test_a_handler_may_close_it(joined):
    world, stream = joined
    world.count += 5
    world.run(lambda: world.sent == world.count)
    assert stream.poll(lambda *_: stream.close()) == 1
    assert stream.closed
    assert stream.poll_messages() == []
    assert list(stream) == []


def test_another_one_goes_on_where_this_one_was(make_world):
    """The position of a program that ends is where it begins the next time."""
    world = make_world(7, "udp", count=1500)
    position = FROM_START
    while world.received < world.count:
        stream = world.follow(position)
        reader = world.read_with(stream.poll_messages)
        goal = min(world.count, world.received + 150)
        world.run(lambda goal=goal: world.received >= goal)
        world.simulation.remove_party(reader)
        position = stream.position
        stream.close()
    assert world.received == world.count


def test_a_listener_is_told_and_its_errors_leave_the_poll(make_world):
    told = []

    class Listener(PersistentSubscriptionListener):
        def on_live_joined(self):
            told.append("joined")
            raise LookupError("of the listener")

        def on_live_left(self):
            told.append("left")

        def on_error(self, error):
            told.append(error)

    world = make_world(8, "ipc", count=50)
    world.run(lambda: world.sent == world.count)
    stream = world.follow(listener=Listener())

    world.simulation.add_party("reader", lambda: len(stream.poll_messages()))
    with pytest.raises(LookupError):
        world.run(lambda: len(told) > 1)
    assert told == ["joined"]
    assert stream.is_live
    world.publication.close()
    world.run(lambda: told == ["joined", "left"])
    stream.close()


def test_a_client_that_ends_is_a_failure_with_its_reason(joined):
    _, stream = joined
    stream.aeron.close()
    with pytest.raises(PersistentSubscriptionError, match="the Aeron client is closed") as caught:
        stream.poll_messages()
    assert caught.value.reason is JoinErrorReason.GENERIC
    assert LiveJoined in [type(event) for event in stream.take_events()]
