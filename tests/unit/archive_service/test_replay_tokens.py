"""Tokens of replays over response channels."""

from __future__ import annotations

import random

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.service.replayer.replay_tokens import ReplayTokens

LIFETIME_NS = 1000


class Session:
    """Stands for a control session: tokens only compare it."""


@pytest.fixture
def tokens() -> ReplayTokens:
    return ReplayTokens(LIFETIME_NS, random.Random(1))


def test_a_token_names_its_session_until_it_is_too_old(tokens) -> None:
    session = Session()
    token = tokens.issue(session, 7, now_ns=100)
    assert token != ap.NULL_VALUE
    assert -(1 << 63) <= token < 1 << 63
    assert tokens.session_of(token, 7, now_ns=100 + LIFETIME_NS) is session
    assert tokens.session_of(token, 7, now_ns=101 + LIFETIME_NS) is None


def test_a_token_is_for_one_recording(tokens) -> None:
    token = tokens.issue(Session(), 7, now_ns=0)
    assert tokens.session_of(token, 8, now_ns=0) is None
    assert tokens.session_of(token ^ 1, 7, now_ns=0) is None


def test_old_tokens_are_forgotten_the_others_stay(tokens) -> None:
    session = Session()
    tokens.issue(session, 1, now_ns=0)
    young = tokens.issue(session, 2, now_ns=500)
    tokens.expire(now_ns=LIFETIME_NS + 1)
    assert len(tokens) == 1
    assert tokens.session_of(young, 2, now_ns=LIFETIME_NS + 1) is session


def test_tokens_die_with_their_session(tokens) -> None:
    gone, other = Session(), Session()
    lost = tokens.issue(gone, 1, now_ns=0)
    kept = tokens.issue(other, 1, now_ns=0)
    tokens.drop_session(gone)
    assert tokens.session_of(lost, 1, now_ns=0) is None
    assert tokens.session_of(kept, 1, now_ns=0) is other


RESPONSE = "aeron:ipc?control-mode=response"


def test_an_archive_gives_tokens_for_any_recording_and_its_own_session(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    first = rig.ask(ap.ReplayTokenRequest, recording_id=99)
    assert rig.ask(ap.ReplayTokenRequest, recording_id=99) != first


@pytest.mark.parametrize("recording_id", [0, 1])
def test_a_replay_with_a_token_that_is_unknown_is_not_answered(rig, recording_id) -> None:
    rig.ask(ap.ArchiveIdRequest)
    token = rig.ask(ap.ReplayTokenRequest, recording_id=0) ^ (recording_id == 0)
    asked = rig.post(
        ap.ReplayRequest,
        recording_id=recording_id,
        position=0,
        length=-1,
        replay_stream_id=9,
        replay_token=token,
        replay_channel=RESPONSE,
    )
    rig.ask(ap.ArchiveIdRequest)
    assert rig.answers(asked) == []
    (text,) = [e for e in rig.errors() if "replayToken" in e]
    assert f"Unknown session or token timeout for replayToken={token}" in text


def test_a_replay_with_a_token_is_the_token_s_session_s_whoever_asks(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    token = rig.ask(ap.ReplayTokenRequest, recording_id=5)
    mine, rig.session_id = rig.session_id, -1
    asked = rig.post(
        ap.ReplayRequest,
        recording_id=5,
        position=0,
        length=-1,
        replay_stream_id=9,
        replay_token=token,
        replay_channel=RESPONSE,
    )
    answer = rig.answer_to(asked)
    assert (answer.control_session_id, answer.relevant_id) == (mine, 5)
    assert "unknown recording id: 5" in answer.error_message
