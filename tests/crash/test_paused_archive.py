"""An archive that is stopped for so long that the driver gives its counters to others."""

from __future__ import annotations

import signal
import threading

import pytest
from peer.servers import ServerSpec, start_ours
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


CHANNEL = "aeron:ipc?term-length=64k"
STREAMS = 4
RECORDING_POSITION = ArchiveCounterType.RECORDING_POSITION  # type id
LIVENESS = "2s"


def message(number: int) -> bytes:
    return number.to_bytes(8, "little") * (2 + number * 37 % 60)


def publish(publications, stop: threading.Event) -> None:
    numbers = [0] * len(publications)
    while not stop.wait(0.0005):
        for index, publication in enumerate(publications):
            for _ in range(12 + index):
                if publication.offer(message(numbers[index])) <= 0:
                    break
                numbers[index] += 1


@pytest.mark.parametrize("mode", ["SHARED", "DEDICATED"])
def test_what_it_recorded_is_sound_and_no_counter_of_others_is_touched(
    aeron_dir, tmp_path, mode
) -> None:
    driver = start_ours(
        ServerSpec("driver", aeron_dir, properties={"aeron.client.liveness.timeout": LIVENESS})
    )
    spec = ServerSpec(
        "archive", aeron_dir, tmp_path / "archive", {"aeron.archive.threading.mode": mode}
    )
    server = start_ours(spec)
    stop = threading.Event()
    try:
        with Aeron(str(aeron_dir)) as aeron, Aeron(str(aeron_dir)) as other:
            archive = AeronArchive(aeron)
            streams = [
                archive.add_recorded_exclusive_publication(CHANNEL, 100 + index)
                for index in range(STREAMS)
            ]
            sender = threading.Thread(target=publish, args=(streams, stop))
            sender.start()
            wait_until(lambda: all(s.position > 200_000 for s in streams), "messages")
            owner = {c.owner_id for c in other.counters.infos() if c.type_id == RECORDING_POSITION}
            own = {c.counter_id for c in other.counters.infos() if c.owner_id in owner}
            assert len(own) > STREAMS
            server.process.process.send_signal(signal.SIGSTOP)
            wait_until(
                # Its publication to a client that does not read stays until that has read it.
                lambda: not any(c.type_id == RECORDING_POSITION for c in other.counters.infos()),
                "the driver to give the archive up",
            )
            taken = []

            def has_taken_one() -> bool:
                """Whether the driver gave one of the archive's counters to another client."""
                taken.append(other.add_counter(5000, "another's"))
                return taken[-1].counter_id in own

            wait_until(has_taken_one, "the driver to give the archive's counters to another client")
            taken += [other.add_counter(5000, "another's") for _ in range(len(own))]
            server.process.process.send_signal(signal.SIGCONT)
            assert server.process.wait() == 1
            stop.set()
            sender.join()
            assert [counter.value for counter in taken] == [0] * len(taken)
        server = start_ours(spec)
        with Aeron(str(aeron_dir)) as aeron, AeronArchive(aeron) as archive:
            for recording in archive.recordings():
                got = [bytes(each.data) for each in archive.read(recording.recording_id)]
                assert len(got) > 100
                assert got == [message(number) for number in range(len(got))]
        assert server.process.stop() == 0
    finally:
        stop.set()
        driver.process.stop()
