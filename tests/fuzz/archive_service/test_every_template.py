"""Every message of the protocol with hostile values, lengths, versions, through a whole archive.

Never a crash: what a request meets is an answer, a refusal, or nothing, and no error of Python's
own. Never a leak: sessions, recordings and replays are counted right and end. The others keep
working.
"""

from __future__ import annotations

import itertools
import os
import random
import struct
from typing import TYPE_CHECKING, Any

import pytest
from archive_hostile import HEAD, message_of, spoiled
from archive_rig import CHANNEL, CONTROL_STREAM

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service.access_rules import REQUESTS

if TYPE_CHECKING:
    from archive_rig import Rig

CASES = int(os.environ.get("AEROLOG_FUZZ_CASES", "0")) or 60
SEQUENCES = max(4, CASES // 10)
CONTROL_SESSIONS, SESSION_COUNTER = (
    ArchiveCounterType.CONTROL_SESSIONS,
    ArchiveCounterType.CONTROL_SESSION,
)
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"
WORDS = [b"admin:admin", b"admin:adminC", b"admin:CSadmin", b"who", b""]
# Answered by nothing, or by what is no control response (spec archive-protocol 8).
SILENT = {
    ap.KeepAliveRequest,
    ap.ReplayRequest,  # a channel that does not parse
    ap.BoundedReplayRequest,
    ap.ListRecordingsRequest,  # descriptors; a count of 0 or below
    ap.ListRecordingsForUriRequest,
    ap.ListRecordingRequest,
    ap.ListRecordingSubscriptionsRequest,
    ap.UpdateChannelRequest,  # a channel that does not parse
}
LENGTH_MAX = 8192  # of a message in the smallest log


def check_alive(rig: Rig, session_id: int) -> None:
    """Another session is served, and nothing has gone wrong that nobody thought of."""
    rig.session_id = session_id
    rig.correlation_ids = itertools.count(2**60)  # none that a changed byte has made
    assert rig.ask(ap.ArchiveIdRequest) == 7
    unexpected = [text for text in rig.errors() if text.startswith("builtins.")]
    assert unexpected == []
    assert not rig.archive.is_closed
    outside = [
        path for path in rig.disk._files if not path.startswith(("/aeron", "/archive"))
    ]  # the folders of driver and archive
    assert outside == []


@pytest.mark.parametrize("template_id", sorted(ap.MESSAGES), ids=lambda t: ap.MESSAGES[t].__name__)
def test_hostile_values(rig: Rig, template_id: int) -> None:
    source = random.Random(template_id)
    message = ap.MESSAGES[template_id]
    good = rig.session_id
    victim = rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    asked = {}
    for _ in range(CASES):
        correlation_id = next(rig.correlation_ids)
        made = message_of(source, message, victim, correlation_id)
        if len(made.encode()) > LENGTH_MAX:
            continue
        rig.send(made)
        rig.turn()
        rig.aeron.do_work()
        rig.poll()
        if (
            all(each.is_listed for each in enums_of(made))
            and message.LAYOUT.name in REQUESTS
            and made.control_session_id == victim
            and message not in SILENT
        ):
            asked[correlation_id] = made
    rig.pass_time(50)
    rig.poll()
    answered = {m.correlation_id for m in rig.received if isinstance(m, ap.ControlResponse)}
    assert not asked.keys() - answered, [asked[c] for c in asked.keys() - answered][:3]
    check_alive(rig, good)


def enums_of(message: ap.Message) -> list[Any]:
    return [getattr(message, field.name) for field in message.LAYOUT.fixed if field.enum]


@pytest.mark.parametrize("template_id", sorted(ap.MESSAGES), ids=lambda t: ap.MESSAGES[t].__name__)
def test_spoiled_bytes(rig: Rig, template_id: int) -> None:
    source = random.Random(1000 + template_id)
    message = ap.MESSAGES[template_id]
    good = rig.session_id
    victim = rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    for _ in range(CASES):
        made = message_of(source, message, victim, next(rig.correlation_ids))
        data = spoiled(source, made.encode())
        if not 0 < len(data) <= LENGTH_MAX or closes(data, good):
            continue
        rig.send(data)
        rig.turn()
        rig.aeron.do_work()
        rig.poll()
    rig.pass_time(50)
    check_alive(rig, good)


def closes(data: bytes, session_id: int) -> bool:
    """Whether it is a proper request to end a session that is to stay."""
    return (
        len(data) >= 16
        and HEAD.unpack_from(data)[1] == ap.CloseSessionRequest.LAYOUT.template_id
        and struct.unpack_from("<q", data, 8)[0] == session_id
    )


class OtherClient:
    """Request streams of another client; one that the archive refuses is followed by the next."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.publication = rig.aeron.add_exclusive_publication(CHANNEL, CONTROL_STREAM)

    def send(self, message: ap.Message) -> None:
        """Send a message on a stream that the archive takes."""
        data = message.encode()
        if len(data) > LENGTH_MAX:
            return
        if not self.publication.is_connected:
            self.publication.close()
            self.publication = self.rig.aeron.add_exclusive_publication(CHANNEL, CONTROL_STREAM)
        self.rig.wait(lambda: self.publication.offer(data) > 0, "room for a request")

    def sessions(self) -> set[int]:
        """Ids of the sessions that have been answered."""
        return {m.control_session_id for m in self.rig.poll() if isinstance(m, ap.ControlResponse)}


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_requests_out_of_order(rig: Rig, seed: int) -> None:
    """Whole lives of sessions, in any order, all at once on one request stream."""
    source = random.Random(f"order-{seed}")
    good = rig.session_id
    other = OtherClient(rig)
    begun = [-1]
    steps = [ap.MESSAGES[t] for t in (2, 3, 58, 60, 61, 68)] * 3 + list(ap.MESSAGES.values())
    for _ in range(CASES):
        message = source.choice(steps)
        made = message_of(source, message, source.choice(begun), next(rig.correlation_ids))
        if isinstance(made, (ap.ConnectRequest, ap.AuthConnectRequest)):
            made.response_channel, made.response_stream_id = "aeron:ipc", 20
            made.version = source.choice([ap.PROTOCOL_VERSION] * 3 + [0, 2 << 16, -1])
        elif getattr(made, "control_session_id", -1) == good:
            continue
        other.send(made)
        if source.random() < 0.5:
            rig.turn(source.choice([1, 1, 5, 20]))
            rig.aeron.do_work()
        begun = [-1, *(other.sessions() - {good})]
    check_alive(rig, good)

    def others_end() -> bool:
        for session_id in other.sessions() - {good}:
            other.send(ap.CloseSessionRequest(control_session_id=session_id))
        return rig.counter(CONTROL_SESSIONS) == 1

    rig.wait(others_end, "the other sessions to end")
    rig.wait(
        lambda: len([c for c in rig.aeron.counters.infos() if c.type_id == SESSION_COUNTER]) == 1,
        "their counters to go",
    )
    assert len(rig.archive._conductor._sessions) == 1
    check_alive(rig, good)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_nobody_gets_by_the_authenticator(make_rig, seed: int) -> None:
    """Connects, answers to challenges and requests in any order: only the known are served."""
    source = random.Random(f"authentication-{seed}")
    rig = make_rig(authenticator_supplier=SAMPLE)
    accepted = {rig.connect(encoded_credentials=b"admin:admin")}
    other = OtherClient(rig)
    sessions: dict[int, bytes] = {}  # what each has said
    asked: dict[int, int] = {}
    connects: dict[int, bytes] = {}
    for _ in range(CASES):
        correlation_id = next(rig.correlation_ids)
        session_id = source.choice([*sessions, 12345])
        step = source.randrange(4)
        if step == 0:
            connects[correlation_id] = source.choice(WORDS)
            other.send(
                ap.AuthConnectRequest(
                    correlation_id=correlation_id,
                    response_stream_id=20,
                    response_channel="aeron:ipc",
                    encoded_credentials=connects[correlation_id],
                )
            )
        elif step == 1:
            answer = source.choice(WORDS)
            if sessions.get(session_id) == b"admin:adminC" and answer == b"admin:CSadmin":
                accepted.add(session_id)
            other.send(
                ap.ChallengeResponse(
                    control_session_id=session_id,
                    correlation_id=correlation_id,
                    encoded_credentials=answer,
                )
            )
        else:
            request = source.choice([ap.ArchiveIdRequest, ap.ReplayTokenRequest])
            asked[correlation_id] = session_id
            fields = {"recording_id": 0} if request is ap.ReplayTokenRequest else {}
            other.send(
                request(control_session_id=session_id, correlation_id=correlation_id, **fields)
            )
        rig.turn(source.choice([1, 1, 10, 250]))
        rig.aeron.do_work()
        for message in rig.poll():
            said = connects.get(getattr(message, "correlation_id", 0))
            if said is not None:
                sessions[message.control_session_id] = said
                if said == b"admin:admin":
                    accepted.add(message.control_session_id)
    rig.pass_time(300)
    served = {
        asked[m.correlation_id]
        for m in rig.poll()
        if isinstance(m, ap.ControlResponse)
        and m.code == ap.ControlResponseCode.OK
        and m.correlation_id in asked
    }
    assert served <= accepted
    assert [text for text in rig.errors() if text.startswith("builtins.")] == []
