"""How a part fails, for `fates`: each act returns when the failure is over."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from fate_parts import CHANNEL, go_on, slow_down, stand_still
from fates import JAVA_FAULT
from waits import wait_until

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.files import RecordingLog
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fate_parts import Stage
    from fates import Row

OTHERS = 5000  # type id of the counters that take the place of those that are freed
MOMENT_S = 0.7


def terminate(stage: Stage, row: Row) -> None:
    stage.parts[row.who].terminate()


def kill(stage: Stage, row: Row) -> None:
    stage.parts[row.who].kill()


def again(stage: Stage, row: Row) -> None:
    kill(stage, row)

    def has_started() -> bool:
        """The reference refuses to start until the last sign of life is 10 s old."""
        with suppress(AssertionError):
            stage.start(row.who)
        return stage.parts[row.who].running

    wait_until(has_started, "another one to start")


def short(stage: Stage, row: Row) -> None:
    part = stage.parts[row.who]
    stand_still(part)
    until = time.monotonic() + MOMENT_S
    while time.monotonic() < until:  # the moment itself
        time.sleep(0.05)
    go_on(part)


def slow(stage: Stage, row: Row) -> None:
    slow_down(stage.parts[row.who])


def long(stage: Stage, row: Row) -> None:
    """Others take the counters of a client, before it goes on; those of a driver end meanwhile."""
    part = stage.parts[row.who]
    stand_still(part)
    taken = []
    if row.who in stage.heartbeats:
        own = stage.heartbeats[row.who]
        wait_until(
            lambda: has_ended(stage, row) or not own & stage.clients(),
            "the driver to give the part up",
        )
        if not has_ended(stage, row):
            taken = [stage.watcher.add_counter(OTHERS, "another's") for _ in range(60)]
    else:
        for name, fate in row.fates(stage.whose).items():
            if fate.code is not None and name != row.who:
                stage.check(name, fate)
    go_on(part)
    fate = row.fates(stage.whose)[row.who]
    stage.check(row.who, fate)
    if stage.whose == "ours":  # the reference overwrites some
        assert [counter.value for counter in taken] == [0] * len(taken)


def has_ended(stage: Stage, row: Row) -> bool:
    """Whether the part that has the driver ended, as a node does when its service is gone."""
    return not stage.parts[stage.names[0]].running


def full(stage: Stage, row: Row) -> None:
    """Fills the disk until what is recorded there has ended, and makes room again."""
    filler = stage.folder / "filler"
    ending = log_ends if row.who == "node" else recording_ends
    with ending(stage) as has_failed:
        found = os.statvfs(stage.folder)
        filler.write_bytes(bytes(found.f_bavail * found.f_frsize))
        wait_until(has_failed, "what a full disk does")
    filler.unlink()


@contextmanager
def recording_ends(stage: Stage) -> Iterator[Callable[[], bool]]:
    """A recording that grows, and whether it has ended."""
    with Aeron(str(stage.aeron_dir)) as aeron, stage.archive_client(aeron) as archive:
        stream = archive.add_recorded_exclusive_publication(CHANNEL, 7)
        number = list(archive.recordings())[-1].recording_id

        def has_failed() -> bool:
            stream.offer(bytes(1024))
            try:
                return archive.stop_position(number) is not None
            except AerologError:
                return JAVA_FAULT in stage.parts["archive"].log()

        yield has_failed


@contextmanager
def log_ends(stage: Stage) -> Iterator[Callable[[], bool]]:
    """A log that grows, and whether the module has said a word of it, or ended."""
    with ExitStack() as opened:
        cluster = AeronCluster(
            stage.watcher,
            ingress_channel="aeron:udp",
            ingress_endpoints=f"0={stage.endpoint}",
            egress_channel="aeron:udp?endpoint=localhost:0",
        )
        opened.push(lambda *_: bool(cluster.close() or True))

        def has_failed() -> bool:
            with suppress(AerologError):
                cluster.offer(bytes(1024))
                cluster.poll_messages()
            return not stage.parts["node"].running or bool(stage.errors("node"))

        yield has_failed


def freed(stage: Stage, row: Row) -> None:
    """Somebody stops the recording of the log, and others take its counter."""
    with Aeron(str(stage.aeron_dir)) as aeron, stage.archive_client(aeron) as archive:
        number = RecordingLog(stage.folder / "cluster", writable=False).last_term.recording_id
        archive.stop_recording_by_identity(number)
    for _ in range(20):
        stage.watcher.add_counter(OTHERS, "another's").value = 1 << 40
    wait_until(lambda: stage.errors("node"), "word of the recording's end")


ACTS: dict[str, Callable[[Stage, Row], None]] = {
    "TERM": terminate,
    "KILL": kill,
    "again": again,
    "short": short,
    "slow": slow,
    "long": long,
    "full": full,
    "freed": freed,
}
