"""Every way to publish, on both drivers."""

import array
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from aerolog.transport.client import Aeron, OfferStatus
from aerolog.transport.errors import (
    BackPressuredError,
    MessageTooLargeError,
    NotConnectedError,
    PublicationClosedError,
)

pytestmark = pytest.mark.interop


def test_any_buffer_is_a_message(stream):
    data = array.array("h", [1, 2, 3])
    for message in (b"bytes", bytearray(b"array"), memoryview(b"view")[1:], data, b""):
        assert stream.publication.offer(message) > 0
    assert stream.take(5) == [b"bytes", b"array", b"iew", data.tobytes(), b""]


def test_positions_and_frames_are_the_worked_example_of_the_format(stream):
    publication = stream.publication
    assert publication.offer(b"0123456789") == 64
    assert publication.offer(b"") == 96
    assert publication.offer(bytes(3000)) == 3200
    sizes = []
    stream.subscription.poll(
        lambda data, header: sizes.append((len(data), header.position)), 10, assemble=False
    )
    assert sizes == [(10, 64), (0, 96), (1376, 1504), (1376, 2912), (248, 3200)]
    with publication.try_claim(100) as claim:
        claim.buffer[:] = bytes(100)
    assert claim.position == 3360
    publication.try_claim(20).abort()
    assert stream.subscription.poll(lambda *_: None) == 1
    assert stream.image.position == 3360 + 64
    assert publication.offer(bytes(8192)) == 3424 + 8384


def test_a_reserved_value_may_be_a_number_or_a_function_of_the_frame(stream):
    frames = []

    def checksum(frame):
        frames.append(bytes(frame))
        return sum(frame[32:])

    stream.publication.offer(b"\x01\x02", reserved_value=-7)
    stream.publication.offer(b"\x01" * 1400, reserved_value=checksum)
    values = []
    stream.subscription.poll(
        lambda _, header: values.append(header.reserved_value), 10, assemble=False
    )
    assert values == [-7, 1376, 24]
    assert [len(frame) for frame in frames] == [32 + 1376, 32 + 24]


def test_what_a_reserved_value_function_raises_leaves_the_offer(stream):
    def fail(_):
        raise KeyError("no checksum")

    with pytest.raises(KeyError, match="no checksum"):
        stream.publication.offer(b"abc", reserved_value=fail)
    assert stream.take(1) == [b"abc"]


def test_parts_are_gathered_into_one_message_over_fragment_borders(stream):
    parts = [b"a" * 1000, b"", bytearray(b"b" * 1000), memoryview(b"c" * 1000)]
    assert stream.publication.offer_parts(parts) > 0
    assert stream.take(1) == [b"a" * 1000 + b"b" * 1000 + b"c" * 1000]


def test_a_message_that_is_too_long_is_an_error_with_the_limit(stream):
    with pytest.raises(MessageTooLargeError, match="maxMessageLength of 8192, length=8193"):
        stream.publication.offer(bytes(8193))
    with pytest.raises(MessageTooLargeError, match="maxPayloadLength of 1376, length=1377"):
        stream.publication.try_claim(1377)


def test_refusals_are_values_that_name_their_reason(aeron, stream_id):
    publication = aeron.add_publication("aeron:ipc?term-length=64k", stream_id)
    assert publication.offer(b"nobody") is OfferStatus.NOT_CONNECTED
    assert not publication.try_claim(10)
    assert publication.try_claim(10).position is OfferStatus.NOT_CONNECTED
    publication.close()
    assert publication.offer(b"closed") is OfferStatus.CLOSED
    assert publication.position is OfferStatus.CLOSED


def test_send_waits_for_room_and_names_who_does_not_make_it(stream):
    publication = stream.publication

    def fill():
        for _ in range(1000):
            publication.send(bytes(1000), timeout=0.05)

    with pytest.raises(BackPressuredError, match="position="):
        fill()
    assert publication.offer(b"more") is OfferStatus.BACK_PRESSURED
    assert publication.available_window <= 0


def test_send_without_subscriber_waits_drops_or_raises(aeron, stream_id):
    publication = aeron.add_publication("aeron:ipc?term-length=64k", stream_id)
    assert publication.send(b"x", on_not_connected="drop") is OfferStatus.NOT_CONNECTED
    with pytest.raises(NotConnectedError):
        publication.send(b"x", on_not_connected="raise")
    with pytest.raises(NotConnectedError, match=r"within 0\.05 s"):
        publication.send(b"x", timeout=0.05)
    with pytest.raises(ValueError, match="on_not_connected"):
        publication.send(b"x", on_not_connected="cry")
    publication.close()
    with pytest.raises(PublicationClosedError):
        publication.send(b"x")


def test_a_send_that_waits_goes_on_when_a_subscriber_comes(aeron, stream_id):
    publication = aeron.add_publication("aeron:ipc?term-length=64k", stream_id)
    positions = []
    sender = threading.Thread(target=lambda: positions.append(publication.send(b"x", timeout=30)))
    sender.start()
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    sender.join(60)
    assert positions == [64]
    assert next(subscription.messages(timeout=30)).data == b"x"


def test_a_claim_is_filled_in_place_and_committed_at_the_end_of_its_block(stream):
    with stream.publication.try_claim(6) as claim:
        assert claim
        claim.buffer[:] = b"filled"
        claim.reserved_value = 99
        claim.flags = 0xC0
        view = claim.buffer
    assert stream.subscription.poll_messages()[0].reserved_value == 99
    with pytest.raises(ValueError, match="released"):
        view[0] = 1


def test_a_claim_is_filled_as_an_array_that_may_be_kept(stream):
    with stream.publication.try_claim(16) as claim:
        array_ = claim.as_array("<f8")
        array_[:] = [1.5, -2.0]
    array_[0] = 9.0
    assert np.frombuffer(stream.take(1)[0], "<f8").tolist() == [1.5, -2.0]
    claim = stream.publication.try_claim(4)
    part = claim.buffer[1:3]
    with pytest.raises(BufferError, match="a slice of the claimed buffer"):
        claim.commit()
    part[:] = b"ok"
    part.release()
    claim.commit()
    with pytest.raises(ValueError, match="already"):
        claim.commit()
    assert stream.take(1) == [b"\0ok\0"]


def test_a_claim_whose_block_raises_is_skipped_by_subscribers(stream):
    def fail():
        with stream.publication.try_claim(6) as claim:
            claim.buffer[:] = b"wrong!"
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    stream.publication.offer(b"right")
    assert stream.take(1) == [b"right"]


def test_a_claim_that_is_dropped_is_aborted(stream):
    stream.publication.try_claim(10)
    stream.publication.offer(b"next")
    assert stream.take(1) == [b"next"]
    # A view of its buffer refers to the claim, so that both are the garbage collector's.
    stream.publication.try_claim(10).buffer[:] = bytes(10)
    gc.collect()
    stream.publication.offer(b"third")
    assert stream.take(1) == [b"third"]


def test_a_claim_says_when_it_is_committed(stream):
    said = []
    for end in ("commit", "abort"):
        claim = stream.publication.try_claim(4)
        claim.on_commit = lambda end=end: said.append(end)
        getattr(claim, end)()
    assert said == ["commit"]


def test_batches_stop_where_there_is_no_room_and_go_on_there(stream):
    messages = [b"%05d" % i * 100 for i in range(200)]
    sent = stream.publication.offer_many(messages)
    assert 0 < sent < 200
    assert stream.publication.last_result is OfferStatus.BACK_PRESSURED
    got = []
    deadline = time.monotonic() + 30
    while sent < 200 and time.monotonic() < deadline:
        got += [message.data for message in stream.subscription.poll_messages(100)]
        sent += stream.publication.offer_many(messages, start=sent)
    got += stream.take(200 - len(got))
    assert got == messages


def test_batches_take_sequences_of_buffers_only(stream):
    with pytest.raises(TypeError, match="sequence"):
        stream.publication.offer_many(iter([b"a"]))
    with pytest.raises(TypeError, match="sequence of messages"):
        stream.publication.offer_many(b"abc")
    with pytest.raises(MessageTooLargeError):
        stream.publication.offer_many([bytes(9000)])
    assert stream.publication.offer_many([b"a", bytes(9000)]) == 1
    assert stream.publication.offer_many([b"a", b"b", b"c"], start=1, limit=1) == 1
    assert stream.take(2) == [b"a", b"b"]


def test_rows_of_arrays_are_messages(stream):
    records = np.zeros(5, [("id", "<i4"), ("price", "<f8")])
    records["id"] = range(5)
    assert stream.publication.offer_array(records) == 5
    assert stream.publication.offer_array(records[::2]) == 3
    assert stream.publication.offer_array(np.arange(6, dtype="<i2").reshape(3, 2)) == 3
    assert stream.publication.offer_many(np.arange(4, dtype="u1").reshape(2, 2)) == 2
    got = stream.take(13)
    assert np.frombuffer(b"".join(got[:5]), records.dtype).tolist() == records.tolist()
    assert got[5:8] == [records[i].tobytes() for i in (0, 2, 4)]
    assert stream.publication.offer_array(records[::-2]) == 3
    assert stream.take(3) == [records[i].tobytes() for i in (4, 2, 0)]
    assert got[8:] == [b"\0\0\1\0", b"\2\0\3\0", b"\4\0\5\0", b"\0\1", b"\2\3"]
    with pytest.raises(ValueError, match="contiguous"):
        stream.publication.offer_array(np.zeros((4, 4), "u1")[:, ::2])


def test_arrow_values_are_messages(stream):
    values = [b"one", b"", b"three" * 400]
    for array_ in (
        pa.array(values),
        pa.array(values, pa.large_binary()),
        pa.array([b"skipped", *values])[1:],
        pa.chunked_array([values[:1], values[1:]]),
        pa.table({"data": values, "other": [1, 2, 3]}),
        pa.record_batch({"data": pa.array(values)}),
    ):
        assert stream.publication.offer_arrow(array_) == 3
        assert stream.take(3) == values
    assert stream.publication.offer_arrow(pa.array(["é"])) == 1
    assert stream.publication.offer_arrow(pa.array([b"ab", b"cd"], pa.binary(2))) == 2
    assert stream.take(3) == ["é".encode(), b"ab", b"cd"]
    chunks = pa.chunked_array([[b"a", b"b"], [b"c", b"d"]])
    assert stream.publication.offer_arrow(chunks, start=1, limit=2) == 2
    assert stream.take(2) == [b"b", b"c"]


def test_arrow_values_that_are_no_messages_are_refused(stream):
    with pytest.raises(ValueError, match="value 1 is null"):
        stream.publication.offer_arrow(pa.array([b"a", None]))
    with pytest.raises(TypeError, match="format"):
        stream.publication.offer_arrow(pa.array([1, 2]))
    with pytest.raises(TypeError, match="__arrow_c_array__"):
        stream.publication.offer_arrow([b"a"])


def test_an_exclusive_publication_pads_and_takes_blocks(aeron, exclusive_stream, stream_id):
    publication = exclusive_stream.publication
    assert publication.append_padding(100) == 160
    assert publication.offer(b"after") == 224
    assert exclusive_stream.take(1) == [b"after"]
    blocks = []
    other_id = stream_id + 50_000
    source = aeron.add_subscription("aeron:ipc", other_id)
    channel = (
        f"aeron:ipc?term-length=64k|session-id={publication.session_id + 1000}"
        f"|init-term-id={publication.initial_term_id}"
        f"|term-id={publication.initial_term_id}|term-offset=224"
    )
    writer = aeron.add_exclusive_publication(channel, other_id)
    writer.wait_connected(30, writable=True)
    source.wait_connected(30)
    writer.offer(b"first")
    writer.offer(b"second" * 500)
    source.poll_block(lambda block, *ids: blocks.append((bytes(block), ids)), 65536)
    assert blocks[0][1] == (writer.session_id, writer.initial_term_id)
    frames = bytearray(blocks[0][0])
    with pytest.raises(ValueError, match="does not continue"):
        publication.offer_block(frames)
    offset = 0
    while offset < len(frames):
        length = int.from_bytes(frames[offset : offset + 4], "little")
        frames[offset + 12 : offset + 16] = publication.session_id.to_bytes(
            4, "little", signed=True
        )
        frames[offset + 16 : offset + 20] = stream_id.to_bytes(4, "little")
        offset += (length + 31) & ~31
    assert publication.offer_block(frames) == 224 + len(frames)
    assert exclusive_stream.take(2) == [b"first", b"second" * 500]


def test_a_revoked_publication_ends_at_once_without_being_drained(exclusive_stream, wait_until):
    exclusive_stream.publication.offer(b"unread")
    image = exclusive_stream.image
    exclusive_stream.publication.revoke()
    wait_until(lambda: image.closed, "the image to go")
    assert image.is_revoked
    assert image.position == 0
    assert not exclusive_stream.subscription.is_connected


def test_two_adds_of_one_stream_share_log_and_session_and_close_apart(aeron: Aeron, stream):
    second = aeron.add_publication(stream.channel, stream.stream_id)
    first = stream.publication
    assert second.session_id == first.session_id
    assert second.original_registration_id == first.registration_id != second.registration_id
    assert (first.is_original, second.is_original) == (True, False)
    first.offer(b"one")
    first.close()
    assert second.offer(b"two") > 0
    assert stream.take(2) == [b"one", b"two"]


def test_threads_share_a_publication_without_losing_or_mixing_messages(stream):
    def publish(number):
        for i in range(300):
            stream.publication.send(b"%d:%d:" % (number, i) + b"x" * (i * 7 % 3000), timeout=30)

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    got = stream.take(1200)
    for thread in threads:
        thread.join()
    for number in range(4):
        mine = [m for m in got if m.startswith(b"%d:" % number)]
        assert [int(m.split(b":")[1]) for m in mine] == list(range(300))
        assert all(len(m.split(b":", 2)[2]) == i * 7 % 3000 for i, m in enumerate(mine))


def test_large_messages_are_copied_without_the_interpreter(aeron, stream_id):
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    publication = aeron.add_publication("aeron:ipc?term-length=4m", stream_id)
    publication.wait_connected(30, writable=True)
    for data in (os.urandom(100_000), bytearray(os.urandom(524_288))):
        publication.send(data, timeout=30)
        message = next(subscription.messages(timeout=30))
        assert message.data == data


PUBLISHER = """
import sys
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.deadline import Deadline
with Aeron(sys.argv[1]) as client:
    publication = client.add_publication("aeron:ipc?term-length=64k", int(sys.argv[2]))
    for i in range(2000):
        publication.send(b"%s:%d:" % (sys.argv[3].encode(), i) + b"x" * (i % 2500), timeout=30)
    deadline = Deadline(30)
    while publication.is_connected and not deadline.is_over:
        client.conductor.await_work(1_000_000)
"""


def test_processes_share_a_publication_without_losing_or_mixing_messages(aeron, stream_id):
    subscription = aeron.add_subscription("aeron:ipc", stream_id)
    command = [sys.executable, "-c", PUBLISHER, aeron.aeron_dir, str(stream_id)]
    publishers = [subprocess.Popen([*command, name]) for name in "ab"]
    got = {b"a": [], b"b": []}
    sessions = set()
    for message in subscription.messages(timeout=30):
        name, number, rest = message.data.split(b":", 2)
        assert rest == b"x" * (int(number) % 2500)
        got[name].append(int(number))
        sessions.add(message.session_id)
        if sum(map(len, got.values())) == 4000:
            break
    subscription.close()
    assert [publisher.wait(30) for publisher in publishers] == [0, 0]
    assert got == {b"a": list(range(2000)), b"b": list(range(2000))}
    assert len(sessions) == 1


def test_properties_tell_the_stream_as_it_was_added(aeron, stream_id):
    channel = (
        "aeron:ipc?term-length=128k|mtu=2048|session-id=-77|init-term-id=5|term-id=7|term-offset=64"
    )
    publication = aeron.add_exclusive_publication(channel, stream_id)
    assert (publication.channel, publication.stream_id) == (channel, stream_id)
    assert publication.session_id == -77
    assert publication.term_length == 131072
    assert publication.mtu == 2048
    assert publication.max_payload_length == 2016
    assert publication.max_message_length == 16384
    assert publication.position_bits_to_shift == 17
    assert publication.max_possible_position == 131072 << 31
    assert publication.initial_term_id == 5
    assert (publication.term_id, publication.term_offset) == (7, 64)
    assert publication.position == publication.position_limit == 2 * 131072 + 64
    assert publication.registration_id == publication.original_registration_id
    assert not publication.is_connected
    assert publication.channel_status.name == "ACTIVE"
    assert publication.local_addresses == []
