"""Every way to read, on both drivers."""

import os
import pickle
import threading

import numpy as np
import pyarrow as pa
import pytest

from aerolog.transport.client import Action, Header, Message, Poller
from aerolog.transport.errors import ConcurrentUseError

pytestmark = pytest.mark.interop


def test_a_handler_gets_views_that_are_released_and_headers_that_may_be_kept(stream):
    stream.publication.offer(b"short", reserved_value=5)
    stream.publication.offer(b"long" * 1000)
    kept = []
    assert stream.subscription.poll(lambda data, header: kept.append((data, header))) == 4
    for data, _ in kept:
        with pytest.raises(ValueError, match="released"):
            bytes(data)
    short, long = (header for _, header in kept)
    assert (short.payload_length, short.flags, short.reserved_value) == (5, 0xC0, 5)
    assert (short.term_id, short.term_offset) == (stream.publication.initial_term_id, 0)
    assert (long.payload_length, long.flags, long.term_offset) == (4000, 0xC0, 64)
    assert long.position == stream.publication.position
    assert long.session_id == stream.publication.session_id
    assert pickle.loads(pickle.dumps(long)) == long
    assert isinstance(long, Header)


def test_slices_and_arrays_of_a_view_stay_readable_after_everything_is_closed(aeron, stream):
    stream.publication.offer(b"0123456789")
    stream.publication.offer(b"assembled" * 500)
    kept = []

    def keep(data, _):
        assert data.readonly
        kept.extend((data[2:5], np.frombuffer(data, "u1")))

    stream.subscription.poll(keep)
    stream.publication.offer(b"another" * 500)
    stream.subscription.poll(lambda *_: None)
    stream.subscription.close()
    stream.publication.close()
    aeron.close()
    assert bytes(kept[2]) == b"sem"
    assert kept[3].tobytes() == b"assembled" * 500
    assert len(bytes(kept[0])) == 3
    assert len(kept[1].tobytes()) == 10


def test_what_a_handler_raises_leaves_the_poll_behind_the_message_it_was_for(stream):
    for message in (b"one", b"two", b"three"):
        stream.publication.offer(message)
    seen = []

    def handler(data, header):
        seen.append(bytes(data))
        if data == b"two":
            raise KeyError(header.position)

    with pytest.raises(KeyError, match="128"):
        stream.subscription.poll(handler)
    assert stream.image.position == 128
    assert stream.subscription.poll(handler) == 1
    assert seen == [b"one", b"two", b"three"]


def test_a_controlled_handler_commits_breaks_and_aborts(stream):
    for number in range(5):
        stream.publication.offer(b"%d" % number)
    positions = []
    answers = [None, Action.COMMIT, Action.CONTINUE, Action.ABORT]

    def handler(data, _):
        positions.append((bytes(data), stream.image.position))
        return answers.pop(0)

    assert stream.subscription.poll_controlled(handler) == 3
    assert positions == [(b"0", 0), (b"1", 0), (b"2", 128), (b"3", 128)]
    assert stream.image.position == 192
    answers[:] = [Action.BREAK]
    assert stream.subscription.poll_controlled(handler) == 1
    assert positions[-1] == (b"3", 192)
    assert stream.take(1) == [b"4"]


def test_an_aborted_long_message_comes_again_whole(stream):
    stream.publication.offer(b"abcdefgh" * 500)
    kept = []

    def abort(data, _):
        kept.append(np.frombuffer(data, "u1"))
        return Action.ABORT

    assert stream.subscription.poll_controlled(abort) == 2
    assert stream.subscription.poll_controlled(abort) == 0
    got = []
    stream.subscription.poll_controlled(lambda data, _: got.append(bytes(data)))
    assert got == [b"abcdefgh" * 500]
    assert [array.tobytes() for array in kept] == got * 2


def test_a_wrong_action_is_an_error(stream):
    stream.publication.offer(b"x")
    with pytest.raises(ValueError, match="returns an Action or None, not 9"):
        stream.subscription.poll_controlled(lambda *_: 9)


def test_a_bounded_poll_takes_no_frame_that_starts_at_the_limit(stream):
    for number in range(4):
        stream.publication.offer(b"%d" % number)
    got = []

    def handler(data, _):
        got.append(bytes(data))

    assert stream.image.poll(handler, until=65) == 2
    assert stream.image.poll(handler, until=128) == 0
    assert stream.image.poll_controlled(handler, until=192) == 1
    assert [m.data for m in stream.image.poll_messages(until=10_000)] == [b"3"]
    assert got == [b"0", b"1", b"2"]


def test_peeking_does_not_take_and_never_ends_inside_a_message(stream):
    stream.publication.offer(b"a")
    stream.publication.offer(b"b" * 3000)
    stream.publication.try_claim(10).abort()
    seen = []

    def handler(data, _):
        seen.append(len(data))

    end = stream.image.peek(handler)
    assert seen == [1, 1376, 1376, 248]
    assert end == stream.publication.position
    assert stream.image.position == 0
    assert stream.image.peek(lambda *_: Action.ABORT, 64) == 64
    assert stream.image.peek(lambda *_: Action.BREAK, 64) == 64
    assert stream.image.peek(lambda *_: Action.BREAK) == 64
    for start in (63, 65536 + 64):
        with pytest.raises(ValueError, match=f"position {start}"):
            stream.image.peek(handler, start)


def test_setting_the_position_skips_messages(stream):
    for number in range(3):
        stream.publication.offer(b"%d" % number)
    stream.image.position = 128
    assert stream.take(1) == [b"2"]
    with pytest.raises(ValueError, match="position 64"):
        stream.image.position = 64


def test_blocks_are_whole_frames_and_padding_comes_alone(stream):
    stream.publication.offer(b"a" * 100)
    stream.publication.offer(b"b")
    stream.publication.try_claim(100).abort()
    blocks = []

    def handler(frames, session_id, term_id):
        assert (session_id, term_id) == (
            stream.publication.session_id,
            stream.publication.initial_term_id,
        )
        blocks.append((len(frames), int.from_bytes(frames[6:8], "little")))

    assert stream.subscription.poll_block(handler, 100) == 0
    assert stream.subscription.poll_block(handler, 160) == 160
    assert stream.subscription.poll_block(handler, 65536) == 64
    assert stream.image.poll_block(handler, 65536) == 160
    assert blocks == [(160, 1), (64, 1), (160, 0)]


def test_a_raw_poll_names_the_place_in_the_log_file(stream):
    stream.publication.offer(b"in the file")
    found = []

    def handler(descriptor, offset, frames, session_id, _):
        found.append((os.pread(descriptor, len(frames), offset), bytes(frames), session_id))

    assert stream.subscription.poll_raw(handler, 65536) == 64
    raw, frames, session_id = found[0]
    assert raw == frames
    assert raw[32:43] == b"in the file"
    assert session_id == stream.publication.session_id


def test_iteration_gives_copies_and_ends_with_the_stream(stream, wait_until):
    for number in range(100):
        stream.publication.send(b"%d" % number * 500, timeout=30)
        if number == 20:
            break
    stream.publication.close()
    got = list(stream.subscription.messages(until_eos=True))
    assert [m.data for m in got] == [b"%d" % n * 500 for n in range(21)]
    assert all(isinstance(m, Message) for m in got)
    assert pickle.loads(pickle.dumps(got[3])) == got[3]
    assert bytes(got[0]) == b"0" * 500
    assert len(got[0]) == 500
    assert got[-1].position == stream.image.end_of_stream_position
    assert wait_until(lambda: stream.image.closed, "the drained image to go")
    assert stream.image.is_end_of_stream


def test_iteration_ends_after_a_quiet_time(stream):
    stream.publication.offer(b"only")
    assert [m.data for m in stream.subscription.messages(timeout=0.05)] == [b"only"]


def test_arrays_are_filled_with_messages_of_their_size(stream):
    record = np.dtype([("id", "<i8"), ("price", "<f8")])
    sent = np.zeros(10, record)
    sent["id"] = range(10)
    stream.publication.offer_array(sent)
    stream.publication.offer(b"odd")
    rows = stream.subscription.poll_array(record)
    assert rows.tolist() == sent.tolist()
    with pytest.raises(ValueError, match="next message has 3 bytes, a row 16"):
        stream.subscription.poll_array(record)
    assert stream.take(1) == [b"odd"]
    stream.publication.offer_array(sent)
    out = np.zeros(4, record)
    assert stream.subscription.poll_array(out=out)["id"].tolist() == [0, 1, 2, 3]
    assert stream.subscription.poll_array(record, limit=3)["id"].tolist() == [4, 5, 6]
    stream.publication.offer_array(np.arange(1000, dtype="<i8").reshape(1, 1000))
    assert stream.subscription.poll_array(record)["id"].tolist() == [7, 8, 9]
    assert stream.subscription.poll_array("(1000,)<i8")[0, 999] == 999


def test_messages_go_into_memory_of_the_caller_with_their_offsets(stream):
    messages = [b"a", b"", b"long" * 500, b"end"]
    stream.publication.offer_many(messages)
    buffer = bytearray(2004)
    offsets = np.zeros(10, "<i8")
    positions = np.zeros(9, "<i8")
    sessions = np.zeros(9, "<i4")
    count = stream.subscription.poll_into(
        buffer, offsets, positions=positions, session_ids=sessions
    )
    assert count == 4
    assert [bytes(buffer[offsets[i] : offsets[i + 1]]) for i in range(4)] == messages
    assert positions[3] == stream.publication.position
    assert set(sessions[:4]) == {stream.publication.session_id}
    stream.publication.offer_many(messages)
    small = bytearray(10)
    assert stream.subscription.poll_into(small, np.zeros(10, "<i4")) == 2
    with pytest.raises(ValueError, match="next message has 2000 bytes, buffer has 10"):
        stream.subscription.poll_into(small, offsets)
    assert stream.subscription.poll_into(buffer, offsets, limit=1) == 1
    with pytest.raises(ValueError, match="offsets has items of 2 bytes"):
        stream.subscription.poll_into(buffer, np.zeros(10, "<i2"))


def test_an_arrow_batch_holds_what_the_messages_held(stream):
    messages = [b"%d" % i * i for i in range(300)]
    for i, message in enumerate(messages[:50]):
        stream.publication.offer(message, reserved_value=i)
    batch = stream.subscription.poll_arrow()
    table = batch.to_pyarrow()
    assert len(batch) == 50
    assert table.schema.names == ["data", "position", "session_id", "reserved_value"]
    assert table.schema.field("data").type == pa.binary()
    assert table.column("data").to_pylist() == messages[:50]
    assert table.column("reserved_value").to_pylist() == list(range(50))
    assert table.column("position")[-1].as_py() == stream.publication.position
    data = pa.array(table.column("data"))
    del batch, table
    assert data.to_pylist() == messages[:50]
    assert len(stream.subscription.poll_arrow()) == 0
    stream.publication.offer_many([b"by", b"image"])
    assert len(stream.image.poll_arrow(1)) == 1
    assert bytes(stream.image.poll_array("S5")[0]) == b"image"
    with pytest.raises(TypeError, match="dtype"):
        stream.image.poll_array()
    assert stream.publication.offer_arrow(stream.subscription.poll_arrow()) == 0


def test_an_arrow_batch_grows_with_its_messages(stream):
    got = []
    for _ in range(12):
        stream.publication.send(bytes(8000), timeout=30)
        if stream.publication.available_window < 9000:
            got += stream.subscription.poll_arrow().to_pyarrow().column("data").to_pylist()
    got += stream.subscription.poll_arrow().to_pyarrow().column("data").to_pylist()
    assert got == [bytes(8000)] * 12


def test_all_images_are_polled_in_turns(aeron, stream_id, wait_until):
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    publications = [
        aeron.add_exclusive_publication("aeron:ipc?term-length=64k", stream_id) for _ in range(3)
    ]
    for publication in publications:
        publication.wait_connected(30, writable=True)
        publication.offer_many([b"%d" % publication.session_id] * 4)
    wait_until(lambda: len(subscription.images) == 3, "all images")
    order = []
    for _ in range(12):
        assert subscription.poll(lambda data, _: order.append(int(bytes(data))), 1) == 1
    assert all(len(set(order[i : i + 3])) == 3 for i in range(0, 12, 3))
    assert {image.session_id for image in subscription.images} == set(order)
    assert subscription.image(publications[1].session_id).source_identity == "aeron:ipc"
    assert subscription.image(12345) is None


def test_a_poller_turns_several_subscriptions(aeron, stream_id):
    streams = [stream_id, stream_id + 60_000]
    got = {stream: [] for stream in streams}
    poller = Poller()
    for stream in streams:
        subscription = aeron.add_subscription("aeron:ipc", stream)
        poller.add(subscription, lambda data, header: got[header.stream_id].append(bytes(data)))
        publication = aeron.add_publication("aeron:ipc?term-length=64k", stream)
        publication.wait_connected(30, writable=True)
        publication.offer_many([b"%d" % i for i in range(30)])
        got[-stream] = publication
    poller.run(until=lambda: all(len(got[stream]) == 30 for stream in streams))
    assert got[streams[0]] == got[streams[1]] == [b"%d" % i for i in range(30)]
    poller.remove(subscription)
    assert len(poller) == 1


def test_a_second_thread_in_a_subscription_is_refused_not_served(stream):
    stream.publication.offer(b"x")
    inside, leave = threading.Event(), threading.Event()

    def handler(*_):
        inside.set()
        assert leave.wait(60)

    poller = threading.Thread(target=stream.subscription.poll, args=(handler,))
    poller.start()
    assert inside.wait(60)
    try:
        with pytest.raises(ConcurrentUseError, match="another thread"):
            stream.subscription.poll(handler)
        with pytest.raises(ConcurrentUseError):
            stream.image.poll(handler)
        with pytest.raises(ConcurrentUseError):
            stream.subscription.poll_arrow()
    finally:
        leave.set()
        poller.join()
    assert stream.subscription.poll(handler) == 0


def test_a_second_thread_in_an_exclusive_publication_is_refused(exclusive_stream):
    inside, leave = threading.Event(), threading.Event()

    def reserve(_):
        inside.set()
        assert leave.wait(60)
        return 1

    publication = exclusive_stream.publication
    writer = threading.Thread(
        target=lambda: publication.offer(b"slow", reserved_value=reserve), daemon=True
    )
    writer.start()
    assert inside.wait(60)
    try:
        for attempt in (
            lambda: publication.offer(b"x"),
            lambda: publication.offer_many([b"x"]),
            lambda: publication.try_claim(1),
            lambda: publication.append_padding(1),
        ):
            with pytest.raises(ConcurrentUseError, match="another thread"):
                attempt()
    finally:
        leave.set()
        writer.join()
    assert publication.offer(b"fast") > 0
    assert exclusive_stream.take(2) == [b"slow", b"fast"]
