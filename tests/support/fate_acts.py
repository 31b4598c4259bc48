"""How a part fails, for `fates`: each act returns when the failure is over."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from fate_parts import CHANNEL, go_on, slow_down, stand_still
from fates import JAVA_FAULT, SECOND
from waits import wait_until

from aerolog.cluster.client import AeronCluster
from aerolog.cluster.files import RecordingLog
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError, RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fate_parts import Stage
    from fates import Row

OTHERS = 5000  # type id of the counters that take the place of those that are freed
MOMENT_S = 0.7
NO_ROOM = "insufficient usable storage"
MESSAGES = 70  # more than a page of 4096 bytes has room for


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

    if SECOND in row.ours:
        stage.start_second(row.who)
        return
    wait_until(has_started, "another one to start")
    if row.who == "node":  # it serves with a container of its own
        fates = row.fates(stage.whose)
        for name in ("session", "service"):
            stage.check(name, fates[name])
        stage.start("service")


def beside(stage: Stage, row: Row) -> None:
    stage.start_second(row.who)


def stopped(stage: Stage, row: Row) -> None:
    """The first goes on when the second has ended."""
    stand_still(stage.parts[row.who])
    be_given_up(stage, row)
    stage.start_second(row.who)
    go_on(stage.parts[row.who])


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
    be_given_up(stage, row)
    taken = []
    fates = row.fates(stage.whose)
    # A node ends with its driver when its service is gone, maybe before others have counters.
    if row.who in stage.heartbeats and fates[stage.names[0]].code is None:
        taken = [stage.watcher.add_counter(OTHERS, "another's") for _ in range(60)]
    go_on(part)
    stage.check(row.who, fates[row.who])
    if stage.whose == "ours":  # the reference overwrites some
        assert [counter.value for counter in taken] == [0] * len(taken)


def be_given_up(stage: Stage, row: Row) -> None:
    """Wait until the driver has given a part up, or whoever depends on a driver has ended."""
    if row.who in stage.heartbeats:
        own = stage.heartbeats[row.who]
        wait_until(
            lambda: has_ended(stage) or not own & stage.clients(),
            "the driver to give the part up",
        )
        return
    for name, fate in row.fates(stage.whose).items():
        if fate.code is not None and name not in {row.who, SECOND}:
            stage.check(name, fate)


def has_ended(stage: Stage) -> bool:
    """Whether the part that has the driver ended, as a node does when its service is gone."""
    return not stage.parts[stage.names[0]].running


def full(stage: Stage, row: Row) -> None:
    """Fills the disk until what is recorded there has ended, and makes room again."""
    if row.who == "driver":
        memory_full(stage)
        return
    ending = log_ends if row.who == "node" else recording_ends
    with ending(stage) as has_failed, filled(stage.folder):
        wait_until(has_failed, "what a full disk does")


@contextmanager
def filled(disk: Path) -> Iterator[Callable[[], None]]:
    """No room on a disk, which is there again at the end; yields what takes room freed since."""
    filler = disk / "filler"

    def fill() -> None:
        found = os.statvfs(disk)
        with filler.open("ab") as file:
            file.write(bytes(found.f_bavail * found.f_frsize))

    fill()
    yield fill
    filler.unlink()


def memory_full(stage: Stage) -> None:
    """A publication is refused, an image is not made; a stream of ours that is there goes on."""
    channel = f"aeron:udp?endpoint={stage.endpoint}"
    stage.watcher.add_publication(f"{channel}|term-length=64k", 7)
    client = stage.parts["client"]
    with filled(stage.aeron_dir.parent) as fill:
        answer = ""
        try:
            stage.watcher.add_publication(CHANNEL, 8)
        except RegistrationError as error:
            answer = str(error)
        assert NO_ROOM in answer
        subscription = stage.watcher.add_subscription(channel, 7)
        wait_until(
            lambda: sum(NO_ROOM in each for each in stage.errors("driver")) > 1,
            "word of the publication and of the image",
        )
        assert not subscription.images
        if stage.whose == "ours":
            assert all(stage.has_served("client") for _ in range(MESSAGES))
        else:
            for _ in range(MESSAGES):
                client.write_line("message")
            wait_until(lambda: fill() or JAVA_FAULT in client.log(), "a page without room")
    stage.wait_serving("driver")
    if stage.whose == "ours":
        wait_until(lambda: subscription.images, "the image")
    else:
        assert not subscription.images


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
    "beside": beside,
    "stopped": stopped,
}
