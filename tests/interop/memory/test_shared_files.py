"""Our readers on a live driver's files, and the reference's tools on files that we wrote."""

import os
import struct
import time

import peer
import pytest

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ActiveDriverError
from aerolog.transport.memory.aeron_directory import AeronDirectory
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.loss_report import LossReport, read_loss_report
from aerolog.transport.protocol import commands, responses
from aerolog.transport.protocol.commands import encode_command
from aerolog.transport.protocol.responses import decode_response

pytestmark = pytest.mark.interop

LIMIT_S = 30.0


class Conversation:
    """A client that speaks to a driver through the shared structures alone."""

    def __init__(self, aeron_dir):
        self.cnc = CncFile.connect(str(aeron_dir))
        self.receiver = self.cnc.receiver()
        while self.receiver.receive_next() is not None:
            pass
        self.client_id = self.next_id()

    def next_id(self):
        return self.cnc.to_driver.next_correlation_id()

    def send(self, command_type, *fields):
        command = command_type(self.client_id, self.next_id(), *fields)
        assert self.cnc.to_driver.write(command.TYPE_ID, encode_command(command))
        return command.correlation_id

    def await_message(self, wanted):
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            message = self.receiver.receive_next()
            if message is not None:
                response = decode_response(*message)
                if wanted(response):
                    return response
        raise AssertionError("the driver does not answer")

    def ask(self, command_type, *fields):
        correlation_id = self.send(command_type, *fields)
        return self.await_message(
            lambda response: getattr(response, "correlation_id", None) == correlation_id
        )


@pytest.fixture
def conversation(any_driver):
    talk = Conversation(any_driver.aeron_dir)
    yield talk
    talk.send(commands.ClientClose)


def test_a_live_drivers_header_is_read(any_driver):
    cnc = CncFile.connect(any_driver.aeron_dir)
    assert cnc.header.lengths == CncLengths.of()
    assert cnc.header.pid == any_driver.pid
    assert cnc.header.client_liveness_timeout_ns == 10_000_000_000
    assert cnc.header.file_page_size == 4096
    assert cnc.mapped.length == 48_238_592
    assert abs(SystemClock().now_epoch_ms() - cnc.heartbeat_ms) < 60_000
    assert cnc.header.start_timestamp_ms <= cnc.heartbeat_ms


def test_the_system_counters_are_read(any_driver):
    counters = [each for each in CncFile.connect(any_driver.aeron_dir).counters if not each.type_id]
    assert [each.counter_id for each in counters] == list(range(46))
    assert counters[0].label == "Bytes sent"
    assert counters[15].label.startswith("Errors: ")
    assert counters[43].value == 65_536
    for each in counters:
        assert each.key[:4] == struct.pack("<i", each.counter_id)
        assert (each.registration_id, each.owner_id) == (each.counter_id, -1)


def test_a_live_drivers_directory_is_refused(any_driver):
    with pytest.raises(ActiveDriverError):
        AeronDirectory(any_driver.aeron_dir).claim()
    assert CncFile.connect(any_driver.aeron_dir).heartbeat_ms > 0


def test_a_publication_is_added_through_the_ring(conversation, stream_id, any_driver):
    ready = conversation.ask(commands.AddPublication, stream_id, "aeron:ipc?term-length=64k")
    assert isinstance(ready, responses.PublicationReady)
    assert ready.registration_id == ready.correlation_id
    assert ready.stream_id == stream_id
    assert ready.channel_status_id == -1
    assert (
        ready.log_file == f"{any_driver.aeron_dir}/publications/{ready.registration_id}.logbuffer"
    )
    limit = conversation.cnc.counters.snapshot(ready.limit_counter_id)
    assert limit.label == (
        f"pub-lmt: {ready.registration_id} {ready.session_id} {stream_id} aeron:ipc?term-length=64k"
    )
    removed = conversation.ask(commands.RemovePublication, ready.correlation_id)
    assert isinstance(removed, responses.OperationSuccess)


def test_a_subscription_gets_the_image_of_a_publication(conversation, stream_id):
    publication = conversation.ask(commands.AddExclusivePublication, stream_id, "aeron:ipc")
    assert isinstance(publication, responses.ExclusivePublicationReady)
    subscription = conversation.ask(commands.AddSubscription, stream_id, "aeron:ipc")
    assert subscription == responses.SubscriptionReady(subscription.correlation_id, -1)
    image = conversation.await_message(
        lambda message: (
            isinstance(message, responses.AvailableImage)
            and message.subscription_registration_id == subscription.correlation_id
        )
    )
    assert image.correlation_id == publication.registration_id
    assert image.source_identity == "aeron:ipc"
    assert image.log_file == publication.log_file


def test_counters_are_added_with_their_keys_and_labels(conversation):
    ready = conversation.ask(commands.AddCounter, 1001, b"a key", "a label")
    counter = conversation.cnc.counters.snapshot(ready.counter_id)
    assert (counter.type_id, counter.label, counter.key.rstrip(b"\0")) == (
        1001,
        "a label",
        b"a key",
    )
    assert counter.registration_id == ready.correlation_id
    assert counter.owner_id == conversation.client_id
    static = conversation.ask(commands.AddStaticCounter, 77, 1002, b"", "static")
    assert isinstance(static, responses.StaticCounter)
    assert conversation.cnc.counters.find_by_registration_id(77, 1002) == static.counter_id


def test_refusals_are_answered_and_stand_in_the_error_log(conversation):
    refused = conversation.ask(commands.RemoveCounter, 987_654_321)
    assert refused.code == 5
    assert refused.message == "ERROR - unknown counter: 987654321"
    deadline = time.monotonic() + LIMIT_S
    while not any("unknown counter: 987654321" in e.text for e in conversation.cnc.errors()):
        assert time.monotonic() < deadline, "the refusal does not stand in the log"
        time.sleep(0.001)


def test_messages_that_are_no_commands_are_answered(conversation):
    assert conversation.cnc.to_driver.write(99, bytes(16))
    unknown = conversation.await_message(
        lambda message: isinstance(message, responses.OnError) and message.code == 6
    )
    assert (unknown.correlation_id, unknown.message) == (0, "ERROR - command typeId=99")
    assert conversation.cnc.to_driver.write(commands.AddPublication.TYPE_ID, bytes(20))
    short = conversation.await_message(
        lambda message: isinstance(message, responses.OnError) and message.code == 7
    )
    assert (short.correlation_id, short.message) == (0, "ERROR - command=1 too short: length=20")


@pytest.mark.parametrize("kind", ["ours", "reference"])
def test_a_live_drivers_loss_report_is_read(start_server, kind):
    server = start_server(kind, "driver")  # nothing was lost on it yet
    mapped = RealFileSystem().open_mapped(f"{server.aeron_dir}/loss-report.dat", writable=False)
    assert mapped.length == 1 << 20
    assert read_loss_report(mapped) == []


@pytest.fixture
def our_files(aeron_dir, reference):
    """A directory as a driver leaves it, written by our structures alone."""
    clock = SystemClock()
    files = RealFileSystem()
    AeronDirectory(str(aeron_dir)).claim()
    header = CncHeader(CncLengths.of(), 10_000_000_000, clock.now_epoch_ms(), os.getpid())
    cnc = CncFile.create(files, str(aeron_dir), header)
    manager = cnc.counters_manager(clock)
    manager.allocate(0, "Bytes sent", struct.pack("<i", 0), registration_id=0, value=1_234_567)
    manager.allocate(1001, "freed")
    manager.allocate(1001, "äpplication counter", b"key", value=-5)
    manager.free(1)
    log = cnc.error_log(clock)
    for text in (
        "first error\n\tat somewhere\n",
        "second error\n",
        "first error\n\tat somewhere\n",
    ):
        log.record(text)
    cnc.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()
    cnc.publish()
    report = LossReport(files.create_mapped(f"{aeron_dir}/loss-report.dat", 1 << 20))
    entry = report.create_entry(
        64, clock.now_epoch_ms(), -7, 4001, "aeron:udp?endpoint=localhost:22200|alias=foo", "a:1"
    )
    report.record_loss(entry, 32, clock.now_epoch_ms())
    report.create_entry(96, clock.now_epoch_ms(), 8, 4002, "aeron:ipc", "127.0.0.1:59861")
    return aeron_dir


def samples(tool, aeron_dir):
    return peer.java_tool(f"io.aeron.samples.{tool}", properties={"aeron.dir": str(aeron_dir)})


def test_the_references_aeron_stat_reads_our_counters(our_files):
    lines = peer.aeron_stat(our_files).splitlines()
    assert f"Aeron Stat (CnC v0.2.0), pid {os.getpid()}, heartbeat age" in lines[0]
    assert lines[2:] == [
        "    0:                  1,234,567 - Bytes sent",
        "    2:                         -5 - ?pplication counter",
        "--",
    ]


def test_the_references_error_stat_reads_our_error_log(our_files):
    shown = samples("ErrorStat", our_files)
    assert "2 observations from" in shown
    assert "first error\n\tat somewhere\n" in shown
    assert "1 observations from" in shown
    assert shown.rstrip().endswith("2 distinct errors observed.")


def test_the_references_loss_stat_reads_our_loss_report(our_files):
    lines = samples("LossStat", our_files).splitlines()
    assert lines[1].startswith("2,96,20")
    assert lines[1].endswith(",-7,4001,aeron:udp?endpoint=localhost:22200|alias=foo,a:1")
    assert lines[2].endswith(",8,4002,aeron:ipc,127.0.0.1:59861")
    assert lines[3] == "2 loss entries"


def test_the_references_driver_tool_writes_to_our_ring(our_files):
    peer.java_tool(
        "io.aeron.samples.DriverTool", "terminate", properties={"aeron.dir": str(our_files)}
    )
    cnc = CncFile.connect(str(our_files))
    found = []
    cnc.to_driver.read(lambda *message: found.append(commands.decode_command(*message)))
    assert found == [commands.TerminateDriver(0, found[0].correlation_id, b"")]
