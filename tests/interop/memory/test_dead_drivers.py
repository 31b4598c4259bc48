"""A directory changes hands between drivers of both kinds, and damage does not stop ours."""

import pytest
from waits import wait_until

from aerolog.transport.errors import ActiveDriverError
from aerolog.transport.memory.aeron_directory import AeronDirectory
from aerolog.transport.memory.cnc import HEADER_LENGTH, CncFile
from aerolog.transport.protocol import commands
from aerolog.transport.protocol.commands import encode_command

pytestmark = pytest.mark.interop

KINDS = pytest.mark.parametrize("implementation", ["ours", "reference"])


def refuse_something(aeron_dir):
    """Makes a driver write an error, and waits until it stands in the log."""
    cnc = CncFile.connect(aeron_dir)
    command = commands.RemoveCounter(0, cnc.to_driver.next_correlation_id(), 4711)
    assert cnc.to_driver.write(command.TYPE_ID, encode_command(command))
    receiver = cnc.receiver()
    wait_until(lambda: receiver.receive_next() is not None, "an answer")
    # A driver answers, and writes down; in which order is its own business.
    wait_until(
        lambda: any("unknown counter: 4711" in seen.text for seen in cnc.errors()),
        "the error in the log",
    )


@KINDS
def test_a_killed_driver_gives_its_directory_up_at_once(start_server, implementation):
    server = start_server(implementation, "driver")
    directory = AeronDirectory(server.aeron_dir)
    with pytest.raises(ActiveDriverError):
        directory.claim()
    refuse_something(server.aeron_dir)
    server.process.kill()
    # No wait is allowed: nobody maps the file any more.
    directory.sleep = pytest.fail
    directory.claim()
    assert directory.file_system.list_dir(server.aeron_dir) == []
    (saved,) = server.spec.aeron_dir.parent.glob(f"{server.spec.aeron_dir.name}-*-error.log")
    text = saved.read_text()
    saved.unlink()
    assert "unknown counter: 4711" in text
    assert text.endswith("\n1 distinct errors observed.\n")


@KINDS
def test_a_driver_killed_with_a_client_attached_gives_its_directory_up_soon(
    start_server, implementation
):
    server = start_server(implementation, "driver")
    client = CncFile.connect(server.aeron_dir)
    server.process.kill()
    AeronDirectory(server.aeron_dir).claim()
    assert client.heartbeat_ms > 0


@pytest.mark.parametrize(("first", "second"), [("ours", "reference"), ("reference", "ours")])
def test_an_orderly_stop_lets_the_other_kind_start(start_server, first, second, aeron_dir):
    before = start_server(first, "driver", aeron_dir=aeron_dir)
    before.process.stop()
    assert CncFile.open(AeronDirectory("").file_system, str(aeron_dir)).heartbeat_ms == -1
    after = start_server(second, "driver", aeron_dir=aeron_dir)
    assert CncFile.connect(after.aeron_dir).header.pid == after.pid


def test_a_client_that_damages_the_ring_does_not_stop_our_driver(start_server, stream_id):
    server = start_server("ours", "driver")
    cnc = CncFile.connect(server.aeron_dir)
    ring = cnc.to_driver
    index = ring.try_claim(1, 16)
    cnc.mapped.store_i32(HEADER_LENGTH + index, 2**31 - 1)
    wait_until(lambda: ring.consumer_position == ring.producer_position, "the ring to be read")
    receiver = cnc.receiver()
    command = commands.AddPublication(
        ring.next_correlation_id(), ring.next_correlation_id(), stream_id, "aeron:ipc"
    )
    assert ring.write(command.TYPE_ID, encode_command(command))
    wait_until(lambda: receiver.receive_next() is not None, "an answer")
    wait_until(lambda: any("damaged" in seen.text for seen in cnc.errors()), "the error in the log")
