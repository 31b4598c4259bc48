"""Our appender and reader inside the log of a running reference driver (spec log-buffers 25)."""

from __future__ import annotations

import dataclasses
import struct
import time
from pathlib import Path

import pytest

from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.logbuffer import metadata
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile

pytestmark = pytest.mark.interop

TERM = 65536
CHANNEL = "aeron:ipc?term-length=64k"
VALUE_LENGTH = 128
WHOLE = 0xC0


class ReferenceLog:
    """The log of a Java publication, with a Java subscription that holds its place."""

    def __init__(self, driver, client, stream_id, *, exclusive=False, channel=CHANNEL):
        self.subscription = client.add_subscription(channel, stream_id)
        add = client.add_exclusive_publication if exclusive else client.add_publication
        self.publication = add(channel, stream_id)
        self.exclusive = exclusive
        number = self.publication.originalRegistrationId()
        self.path = Path(driver.aeron_dir, "publications", f"{number}.logbuffer")
        self.logs = LogBuffers.open(MappedFile.open(str(self.path)))
        cnc = CncFile.open(RealFileSystem(), driver.aeron_dir, writable=True)
        self.counters = cnc.mapped
        lengths = cnc.header.lengths
        self.values_offset = cnc.header.file_length and (
            lengths.total - lengths.counter_values - lengths.error_log
        )

    def offset(self, counter_id):
        return self.values_offset + VALUE_LENGTH * counter_id

    def appender(self):
        limit = self.offset(self.publication.positionLimitId())
        return DirectPublication(self.logs, self.counters, limit, exclusive=self.exclusive)

    def reader(self):
        """A reader that the driver knows nothing of: it must not fall behind the Java one."""
        counter = MappedFile.anonymous(64)
        counter.store_i64(0, self.logs.producer_position)
        return DirectSubscription(self.logs, counter, 0)


def retried(offer, *args):
    deadline = time.monotonic() + 30
    while (result := offer(*args)) < 0:
        assert result in (-1, -2, -3), result
        assert time.monotonic() < deadline
    return result


@pytest.fixture
def client(java_driver, java_client):
    return java_client(java_driver.aeron_dir)


@pytest.fixture(params=[False, True], ids=["concurrent", "exclusive"])
def log(request, java_driver, client, stream_id):
    return ReferenceLog(java_driver, client, stream_id, exclusive=request.param)


def test_the_reference_reads_what_we_append(log):
    ours = log.appender()
    messages = [b"0123456789", b"", bytes(range(250)) * 12, b"x" * 8192]
    positions = [retried(ours.offer, message) for message in messages]
    positions.append(retried(ours.offer_parts, [b"head", b"b" * 2000, b"tail"]))
    positions.append(retried(ours.offer, b"y" * 3000, -77))
    claimed = ours.claim(5)
    claimed[32:] = b"claim"
    ours.commit()
    positions.append(ours.position)
    ours.claim(100)
    ours.abort()
    positions.append(retried(ours.offer, b"last"))
    found = log.subscription.poll(len(positions))
    payloads = [*messages, b"head" + b"b" * 2000 + b"tail", b"y" * 3000, b"claim", b"last"]
    assert [each["data"] for each in found] == payloads
    assert [each["position"] for each in found] == positions
    assert [each["reservedValue"] for each in found] == [0] * 5 + [-77, 0, 0]
    assert log.publication.sessionId() == found[0]["sessionId"] == log.logs.session_id


def test_the_reference_reads_our_batches_over_many_terms(log):
    ours = log.appender()
    records = b"".join(struct.pack("<q", n) for n in range(10_000))
    values = [struct.pack("<q", 10_000 + n) + b"v" * (n % 3000) for n in range(500)]
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value))
    offsets, data = struct.pack(f"<{len(ends)}i", *ends), b"".join(values)
    found, records_taken, values_taken = [], 0, 0
    deadline = time.monotonic() + 60
    while len(found) < 10_500:
        assert time.monotonic() < deadline, (records_taken, values_taken, len(found))
        if records_taken < 10_000:
            records_taken += ours.offer_records(records, 8, records_taken)[0]
        elif values_taken < 500:
            values_taken += ours.offer_values(data, offsets, 4, values_taken)[0]
        found += log.subscription.poll(2_000, timeout=0.01)
    assert [struct.unpack_from("<q", each["data"])[0] for each in found] == list(range(10_500))
    assert [each["data"] for each in found[10_000:]] == values
    assert log.logs.active_term_count > 10


def test_we_read_what_the_reference_appends(log):
    reader = log.reader()
    messages = [b"one", b"", b"t" * 3000, b"u" * 1376, b"v" * 8192]
    positions = log.publication.offer(*messages, reserved_value=12345)
    log.publication.claim(b"aborted", abort=True)
    log.publication.claim(b"claimed")
    found = reader.poll(100, assemble=True)
    expected = log.subscription.poll(6)
    assert [each.payload for each in found] == [*messages, b"claimed"]
    assert [each.position for each in found[:5]] == positions
    assert [
        (each.payload, each.position, each.flags, each.session_id, each.reserved_value)
        for each in found
    ] == [
        (
            each["data"],
            each["position"],
            each["flags"] & 0xFF,
            each["sessionId"],
            each["reservedValue"],
        )
        for each in expected
    ]


def test_the_same_offers_leave_the_same_bytes(log):
    """Headers, padding, tails and counts: the whole log, ours against the reference's."""
    file = MappedFile.anonymous(log.logs.file.length)
    ours = LogBuffers.create(file, log.logs.metadata)
    counters = MappedFile.anonymous(64)
    counters.store_i64(0, 1 << 40)
    appender = DirectPublication(ours, counters, 0, exclusive=log.exclusive)
    log.reader()
    lengths = [0, 1, 31, 32, 33, 100, 1375, 1376, 1377, 2752, 2753, 4000, 5000, 8192, 64]
    for number, length in enumerate(lengths):
        message = bytes([number + 1]) * length
        (position,) = log.publication.offer(message, reserved_value=number)
        assert retried(appender.offer, message, number) == position
    if log.exclusive:
        assert log.publication.appendPadding(100) == appender.offer_padding(100)
    assert log.publication.position() == appender.position
    for index in range(3):
        assert ours.raw_tail(index) == log.logs.raw_tail(index)
        assert bytes(ours.term(index)) == bytes(log.logs.term(index))
    # At the end of a term: padding and a rotation.
    log.subscription.poll(len(lengths))
    while log.publication.position() < TERM:
        message = b"f" * 4000
        (position,) = log.publication.offer(message)
        assert retried(appender.offer, message) == position
        log.subscription.poll(1)
    assert ours.active_term_count == log.logs.active_term_count == 1
    for index in range(3):
        assert ours.raw_tail(index) == log.logs.raw_tail(index)


def test_we_write_the_metadata_that_the_reference_writes(log):
    section = bytes(log.logs.file)[-metadata.LENGTH :]
    written = bytearray(metadata.encode(metadata.decode(section)))
    shared = {field.name: field for field in metadata.SHARED_FIELDS}
    for field in shared.values():
        size = struct.calcsize("<" + field.format)
        written[field.offset : field.offset + size] = section[field.offset : field.offset + size]
    assert bytes(written) == section


def test_a_log_that_starts_anywhere_is_created_as_the_reference_creates_it(
    java_driver, client, stream_id
):
    start = "init-term-id=-5|term-id=2|term-offset=96"
    reference = ReferenceLog(java_driver, client, stream_id, channel=f"{CHANNEL}|{start}")
    deadline = time.monotonic() + 30
    while not reference.logs.is_connected:
        assert time.monotonic() < deadline, "the subscription does not count"
    values = metadata.decode(bytes(reference.logs.file)[-metadata.LENGTH :])
    file = MappedFile.anonymous(reference.logs.file.length)
    ours = LogBuffers.create(file, dataclasses.replace(values, term_id=2, term_offset=96))
    ours.is_connected = True
    assert bytes(ours.file) == bytes(reference.logs.file)


def test_both_append_to_one_log_by_turns(java_driver, client, stream_id):
    log = ReferenceLog(java_driver, client, stream_id)
    ours = log.appender()
    expected = []
    for number in range(300):
        message = struct.pack("<q", number) * (1 + number * 7 % 400)
        if number % 2:
            retried(ours.offer, message)
        else:
            log.publication.offer(message)
        expected.append(message)
        if number % 10 == 9:
            found = log.subscription.poll(10)
            assert [each["data"] for each in found] == expected[-10:]
    assert log.logs.active_term_count >= 5


def test_both_append_to_one_log_at_once(java_driver, client, stream_id):
    log = ReferenceLog(java_driver, client, stream_id)
    ours = log.appender()
    theirs = log.publication.start_offer_numbered(8_000, 64)
    own, seen = 0, []
    deadline = time.monotonic() + 60
    numbers = {"ours": [], "theirs": []}
    while len(numbers["ours"]) < 2_000 or len(numbers["theirs"]) < 8_000:
        assert time.monotonic() < deadline, {key: len(each) for key, each in numbers.items()}
        while own < 2_000 and ours.offer(struct.pack("<q", own) + b"o" * (own % 3000)) > 0:
            own += 1
        seen = log.subscription.poll(500, timeout=0.01)
        for each in seen:
            (number,) = struct.unpack_from("<q", each["data"])
            whose = "ours" if set(each["data"][8:]) <= {ord("o")} else "theirs"
            if whose == "ours":
                assert len(each["data"]) == 8 + number % 3000
            numbers[whose].append(number)
    assert theirs.result(30)["count"] == 8_000
    assert numbers == {"ours": list(range(2_000)), "theirs": list(range(8_000))}
