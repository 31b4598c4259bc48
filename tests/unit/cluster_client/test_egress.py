"""What a member says, as batches and one by one, and in which order with its events."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from cluster_script import CHANNELS, SESSION_ID, TERM, ScriptedMember, scripted_session
from live_archive import until

from aerolog.cluster.client import AsyncAeronCluster, EgressBatch, EgressMessage, SessionClosedError
from aerolog.cluster.protocol import AdminRequest, AdminResponse, AdminResponseCode, EventCode

if TYPE_CHECKING:
    from aerolog.cluster.client import AeronCluster
    from aerolog.transport.client import Aeron

    Session = tuple[AeronCluster, ScriptedMember]


def texts(batch: EgressBatch | list[EgressMessage]) -> list[bytes]:
    return [message.data for message in batch]


def batch_with(cluster: AeronCluster, **options: int) -> EgressBatch:
    """The next batch that has something."""
    found: list[EgressBatch] = []

    def has_come() -> bool:
        batch = cluster.poll_batch(**options)
        if len(batch):
            found.append(batch)
        return bool(found)

    until(has_come, "a batch with messages", patience_s=10)
    return found[0]


def read(cluster: AeronCluster, heard: list[Any], count: int) -> None:
    """Add what comes to what handlers have noted, until it is so much."""

    def has_come() -> bool:
        heard.extend(texts(cluster.poll_batch()))
        return len(heard) == count

    until(has_come, f"{count} messages and events", patience_s=10)


def test_a_batch_is_a_sequence_with_columns(session: Session) -> None:
    cluster, member = session
    sent = [np.arange(4, dtype="<i8") + number for number in range(3)]
    for timestamp, row in enumerate(sent, 50):
        member.text(row.tobytes(), timestamp)
    batch = batch_with(cluster)
    assert np.array_equal(np.frombuffer(batch.data, "<i8").reshape(-1, 4), np.stack(sent))
    assert list(batch.ends) == [32, 64, 96]
    assert list(batch.timestamps) == [50, 51, 52]
    assert list(batch.session_ids) == [SESSION_ID] * 3
    assert list(batch.leadership_term_ids) == [TERM] * 3
    # A frame of 32 + 32 + 32 bytes each, behind the event that opened the session.
    assert list(np.diff(batch.positions)) == [96, 96]
    assert list(batch) == [
        EgressMessage(row.tobytes(), timestamp, TERM, position)
        for row, timestamp, position in zip(sent, (50, 51, 52), batch.positions, strict=True)
    ]
    assert batch[-1] == batch[:][2]
    table = batch.to_arrow()
    assert table.schema.names == ["session_id", "timestamp", "position", "payload"]
    assert table.column("payload").to_pylist() == [row.tobytes() for row in sent]
    assert table.column("timestamp") == pa.array([50, 51, 52])
    assert repr(batch) == "<EgressBatch of 3 messages, 96 bytes>"


def test_an_empty_batch(session: Session) -> None:
    cluster, _ = session
    batch = cluster.poll_batch()
    assert (len(batch), list(batch), bytes(batch.data)) == (0, [], b"")
    assert batch.positions.shape == (0,)
    assert batch.to_arrow().num_rows == 0
    with pytest.raises(ValueError, match="a limit is not negative: -1"):
        cluster.poll_batch(-1)


def test_a_limit_bounds_a_batch_and_long_messages_are_whole(session: Session) -> None:
    cluster, member = session
    for number in range(5):
        member.text(b"%d" % number)
    assert texts(batch_with(cluster, limit=2)) == [b"0", b"1"]
    assert texts(batch_with(cluster)) == [b"2", b"3", b"4"]
    long = bytes(range(256)) * 30
    member.text(long)
    assert texts(batch_with(cluster, limit=1)) == [long]


def test_events_come_between_the_messages(aeron: Aeron) -> None:
    heard: list[Any] = []
    with scripted_session(aeron, on_session_event=lambda event: heard.append(event.detail)) as (
        cluster,
        member,
    ):
        member.text(b"before")
        member.event(EventCode.ERROR, "one")
        member.event(EventCode.ERROR, "two")
        member.text(b"between")
        member.event(EventCode.ERROR, "three")
        member.text(b"after")
        read(cluster, heard, 6)
    assert heard == [b"before", "one", "two", b"between", "three", b"after"]


def test_a_new_leader_comes_between_the_messages(aeron: Aeron) -> None:
    heard: list[Any] = []
    with scripted_session(
        aeron, on_new_leader=lambda event: heard.append(event.leadership_term_id)
    ) as (cluster, member):
        member.text(b"old")
        member.lead(TERM + 1, "")
        member.text(b"new")
        read(cluster, heard, 3)
    assert heard == [b"old", TERM + 1, b"new"]


def test_what_came_before_the_end_is_given_before_the_end(session: Session) -> None:
    cluster, member = session
    member.text(b"last")
    member.event(EventCode.CLOSED, "TIMEOUT")
    assert texts(batch_with(cluster)) == [b"last"]
    with pytest.raises(SessionClosedError, match="TIMEOUT"):
        batch_with(cluster)


def test_unread_messages_hold_no_answer_back(session: Session) -> None:
    cluster, member = session

    def answer() -> None:
        request, _ = member.await_message(AdminRequest)
        member.text(b"unread")
        member.say(
            AdminResponse(
                cluster_session_id=SESSION_ID,
                correlation_id=request.correlation_id,
                request_type=request.request_type,
                response_code=AdminResponseCode.OK,
                message="",
            )
        )

    answering = threading.Thread(target=answer)
    answering.start()
    cluster.take_snapshot()
    answering.join(10)
    assert texts(cluster.poll_batch()) == [b"unread"]


def test_a_handler_that_fails_loses_no_message(aeron: Aeron) -> None:
    def fail(_: object) -> None:
        raise KeyError("on_session_event")

    with scripted_session(aeron, on_session_event=fail) as (cluster, member):
        member.event(EventCode.ERROR, "oh")
        member.text(b"after")
        with pytest.raises(KeyError):
            batch_with(cluster)
        assert texts(batch_with(cluster)) == [b"after"]


def test_a_batch_goes_on_where_an_iteration_was_left(session: Session) -> None:
    cluster, member = session
    for number in range(5):
        member.text(b"%d" % number, number)
    found = [next(iter(cluster.messages())).data for _ in range(2)]
    rest = cluster.poll_batch()
    assert [*found, *texts(rest)] == [b"0", b"1", b"2", b"3", b"4"]
    assert list(rest.timestamps) == [2, 3, 4]
    assert list(rest.ends) == [1, 2, 3]


def collect(member: ScriptedMember, batch: EgressBatch, found: list[bytes]) -> bool:
    """Note a batch, and have the session end once all has come."""
    assert len(batch)
    found += texts(batch)
    if len(found) == 3:
        member.event(EventCode.CLOSED, "enough")
    return len(found) == 3


def test_batches_are_iterated_until_the_session_ends(session: Session) -> None:
    cluster, member = session
    found: list[bytes] = []
    for text in (b"a", b"b", b"c"):
        member.text(text)
    with pytest.raises(SessionClosedError, match="enough"):
        for batch in cluster.batches(limit=2):
            collect(member, batch, found)
    assert found == [b"a", b"b", b"c"]


def test_batches_are_iterated_by_asyncio(aeron: Aeron) -> None:
    found: list[bytes] = []

    async def run(member: ScriptedMember) -> None:
        connecting = asyncio.create_task(AsyncAeronCluster.connect(aeron, **CHANNELS))
        await asyncio.to_thread(member.await_connect)
        member.event(EventCode.OK)
        async with await connecting as cluster:
            for text in (b"a", b"b", b"c"):
                member.text(text)
            async for batch in cluster.batches(limit=2):
                collect(member, batch, found)

    with (
        ScriptedMember(aeron, 0, "aeron:ipc") as member,
        pytest.raises(SessionClosedError, match="enough"),
    ):
        asyncio.run(run(member))
    assert found == [b"a", b"b", b"c"]
