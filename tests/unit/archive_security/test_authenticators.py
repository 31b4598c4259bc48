"""Who may connect and do what, through an archive: by properties, with the files behind them."""

from __future__ import annotations

import hashlib
import hmac
from concurrent.futures import Executor, Future
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service import access
from aerolog.archive.service.properties import ArchiveConfig
from aerolog.transport.config.sources import Properties
from aerolog.transport.credentials import (
    HMAC_CHALLENGE_PREFIX,
    HmacCredentials,
    PasswordCredentials,
    StaticCredentials,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.security import (
    PasswordFileAuthenticator,
    SimpleAuthenticator,
    new_key,
    plug_ins,
    set_password,
)

if TYPE_CHECKING:
    from pathlib import Path

CHEAP = 4
REJECTED, UNAUTHORISED = (
    ArchiveCounterType.AUTHENTICATIONS_REJECTED,
    ArchiveCounterType.REQUESTS_UNAUTHORISED,
)
OK = ap.ControlResponseCode.OK


class AtOnce(Executor):
    """Does what it is given when it is given it."""

    def submit(self, fn, /, *args, **kwargs) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


@pytest.fixture
def passwords(tmp_path) -> Path:
    path = tmp_path / "passwords"
    set_password(path, "ali", "open: sesame", log_n=CHEAP)
    return path


@pytest.fixture
def keys(tmp_path) -> tuple[Path, bytes]:
    path = tmp_path / "keys"
    key = new_key()
    path.touch(0o600)
    path.write_text(f"ali:{key}\n")
    return path, bytes.fromhex(key)


def connected(rig, credentials: bytes, correlation_id: int = 1) -> ap.ControlResponse:
    """The answer to a connect request."""
    rig.send(
        ap.AuthConnectRequest(
            correlation_id=correlation_id,
            response_stream_id=20,
            response_channel="aeron:ipc",
            encoded_credentials=credentials,
        )
    )
    answer = rig.answer_to(correlation_id)
    rig.session_id = answer.control_session_id
    return answer


def challenge_of(rig, credentials: bytes, correlation_id: int) -> ap.Challenge:
    """The challenge after a connect request."""
    rig.send(
        ap.AuthConnectRequest(
            correlation_id=correlation_id,
            response_stream_id=20,
            response_channel="aeron:ipc",
            encoded_credentials=credentials,
        )
    )
    return rig.wait(
        lambda: [
            m
            for m in rig.poll()
            if isinstance(m, ap.Challenge) and m.correlation_id == correlation_id
        ],
        "a challenge",
    )[0]


def answered(rig, challenge: ap.Challenge, answer: bytes, correlation_id: int):
    rig.session_id = challenge.control_session_id
    rig.send(
        ap.ChallengeResponse(
            control_session_id=rig.session_id,
            correlation_id=correlation_id,
            encoded_credentials=answer,
        )
    )
    return rig.answer_to(correlation_id)


def outcome(answer: ap.ControlResponse) -> tuple[str, int]:
    return answer.code.name, 0 if answer.code == OK else answer.relevant_id


def test_a_password_lets_its_user_in_and_nobody_else(make_rig, passwords) -> None:
    rig = make_rig(authenticator=PasswordFileAuthenticator(passwords, executor=AtOnce()))
    good = PasswordCredentials("ali", "open: sesame").encoded_credentials()
    assert outcome(connected(rig, good)) == ("OK", 0)
    assert rig.ask(ap.ArchiveIdRequest) == 7
    bad = [b"ali:open", b"baba:open: sesame", b"ali", b"", b":", b"\xff\xfe:x", b"x" * 5000]
    for number, credentials in enumerate(bad, 2):
        assert outcome(connected(rig, credentials, number)) == ("ERROR", 10), credentials
    assert rig.counter(REJECTED) == len(bad)
    assert any("authentication rejected: source=aeron:ipc" in text for text in rig.errors())
    assert not any("sesame" in text for text in rig.errors())


def test_a_password_is_hashed_once_until_the_file_changes(make_rig, passwords, monkeypatch) -> None:
    hashed = []
    scrypt = hashlib.scrypt
    monkeypatch.setattr(hashlib, "scrypt", lambda *a, **k: hashed.append(1) or scrypt(*a, **k))
    authenticator = PasswordFileAuthenticator(passwords, executor=AtOnce(), check_interval_s=0)
    rig = make_rig(authenticator=authenticator)
    del hashed[:]
    for number in range(1, 4):
        assert outcome(connected(rig, b"ali:open: sesame", number)) == ("OK", 0)
    assert len(hashed) == 1
    set_password(passwords, "ali", "another", log_n=CHEAP)
    assert outcome(connected(rig, b"ali:open: sesame", 4)) == ("ERROR", 10)
    assert outcome(connected(rig, b"ali:another", 5)) == ("OK", 0)


def test_hashing_does_not_hold_up_the_archive(make_rig, passwords) -> None:
    class Never(Executor):
        """Does nothing of what it is given."""

        def __init__(self) -> None:
            self.given: list[Future[Any]] = []

        def submit(self, fn, /, *args, **kwargs) -> Future[Any]:
            self.given.append(Future())
            return self.given[-1]

    busy = Never()
    rig = make_rig(authenticator=PasswordFileAuthenticator(passwords, executor=busy))
    rig.send(
        ap.AuthConnectRequest(
            correlation_id=1,
            response_stream_id=20,
            response_channel="aeron:ipc",
            encoded_credentials=b"ali:x",
        )
    )
    rig.wait(lambda: busy.given, "the password to be given to the executor")
    rig.pass_time(4000)
    assert rig.answers(1) == []
    assert rig.counter(ArchiveCounterType.CONTROL_SESSIONS) == 1
    rig.pass_time(1500)
    assert rig.counter(ArchiveCounterType.CONTROL_SESSIONS) == 0
    assert busy.given[0].cancelled()


def test_hmac_lets_in_who_has_the_key(make_rig, keys) -> None:
    path, key = keys
    rig = make_rig(authenticator_supplier="hmac", hmac_key_file=str(path))
    ali = HmacCredentials("ali", key)
    first = challenge_of(rig, ali.encoded_credentials(), 1)
    assert first.encoded_challenge.startswith(HMAC_CHALLENGE_PREFIX)
    proof = ali.on_challenge(first.encoded_challenge)
    assert proof == hmac.digest(key, b"ali\0" + first.encoded_challenge, "sha256")
    assert outcome(answered(rig, first, proof, 2)) == ("OK", 0)
    assert rig.ask(ap.ArchiveIdRequest) == 7

    second = challenge_of(rig, b"ali", 3)
    assert second.encoded_challenge != first.encoded_challenge
    assert outcome(answered(rig, second, proof, 4)) == ("ERROR", 10)  # an answer of before
    wrong = HmacCredentials("ali", bytes(32))
    third = challenge_of(rig, b"ali", 5)
    assert outcome(answered(rig, third, wrong.on_challenge(third.encoded_challenge), 6)) == (
        "ERROR",
        10,
    )
    # Who is not known is asked the same, and refused the same.
    stranger = HmacCredentials("baba", key)
    fourth = challenge_of(rig, b"baba", 7)
    answer = stranger.on_challenge(fourth.encoded_challenge)
    assert outcome(answered(rig, fourth, answer, 8)) == ("ERROR", 10)
    assert outcome(connected(rig, b"", 9)) == ("ERROR", 10)
    assert rig.counter(REJECTED) == 4


def test_only_the_first_answer_to_a_challenge_counts(make_rig, keys) -> None:
    path, key = keys
    rig = make_rig(authenticator_supplier="hmac", hmac_key_file=str(path))
    challenge = challenge_of(rig, b"ali", 1)
    rig.session_id = challenge.control_session_id
    right = HmacCredentials("ali", key).on_challenge(challenge.encoded_challenge)
    for correlation_id, answer in ((2, bytes(32)), (3, right)):
        rig.requests.offer(
            ap.ChallengeResponse(
                control_session_id=rig.session_id,
                correlation_id=correlation_id,
                encoded_credentials=answer,
            ).encode()
        )
    refused = rig.wait(lambda: rig.answers(2) + rig.answers(3), "an answer")
    assert [outcome(each) for each in refused] == [("ERROR", 10)]


def test_credentials_sign_no_challenge_of_another_kind() -> None:
    ali = HmacCredentials("ali", bytes(16))
    for challenge in (b"", b"challenge!", HMAC_CHALLENGE_PREFIX, HMAC_CHALLENGE_PREFIX + bytes(31)):
        with pytest.raises(ConfigurationError, match="not one of HMAC"):
            ali.on_challenge(challenge)
    for credentials in (StaticCredentials(b"x"), PasswordCredentials("ali", "x")):
        with pytest.raises(ConfigurationError, match="asks for proof"):
            credentials.on_challenge(b"challenge!")
    assert StaticCredentials(b"x", b"y").on_challenge(b"challenge!") == b"y"
    with pytest.raises(ConfigurationError, match="at least 16 bytes"):
        HmacCredentials("ali", b"short")
    for made in (ali, PasswordCredentials("ali", "hidden"), StaticCredentials(b"hidden")):
        assert "hidden" not in repr(made)
        assert "key" not in repr(made)


def test_the_simple_authenticator_knows_bytes(make_rig) -> None:
    rig = make_rig(authenticator=SimpleAuthenticator({b"word": b"ali"}))
    assert outcome(connected(rig, b"word", 1)) == ("OK", 0)
    assert outcome(connected(rig, b"words", 2)) == ("ERROR", 10)


def test_rules_decide_by_principal_and_denials_are_counted(make_rig, tmp_path) -> None:
    path = tmp_path / "rules"
    path.write_text("ali allow query\n* deny all\n* allow session\n")
    rig = make_rig(
        authenticator=SimpleAuthenticator({b"1": b"ali", b"2": b"baba"}),
        authorisation_service_supplier="rules-file",
        rules_file=str(path),
    )
    last = {"min_recording_id": 0, "session_id": 1, "stream_id": 2, "channel": ""}
    connected(rig, b"1", 1)
    assert rig.ask(ap.ArchiveIdRequest) == 7
    assert rig.ask(ap.FindLastMatchingRecordingRequest, **last) == -1
    assert rig.refused(ap.PurgeRecordingRequest, recording_id=0) == (13, "unauthorised action")
    connected(rig, b"2", 2)
    assert rig.ask(ap.ArchiveIdRequest) == 7
    assert rig.refused(ap.FindLastMatchingRecordingRequest, **last) == (13, "unauthorised action")
    assert rig.counter(UNAUTHORISED) == 2
    template_id = ap.PurgeRecordingRequest.LAYOUT.template_id
    assert any(
        f"unauthorised archive action={template_id}" in text and "source=aeron:ipc" in text
        for text in rig.errors()
    )


def test_nothing_is_done_for_who_is_not_authenticated_yet(make_rig, keys) -> None:
    """What needs no active session needs an authenticated one; with the reference it needs none."""
    path, _ = keys
    rig = make_rig(authenticator_supplier="hmac", hmac_key_file=str(path))
    rig.session_id = challenge_of(rig, b"ali", 1).control_session_id
    token = rig.post(ap.ReplayTokenRequest, recording_id=0)
    other = rig.post(ap.ArchiveIdRequest)
    rig.pass_time(300)
    assert rig.answers(token) == rig.answers(other) == []
    assert len(rig.archive._conductor._tokens) == 0


def test_an_authenticator_forgets_the_sessions_that_have_ended(make_rig, keys, passwords) -> None:
    path, _ = keys
    for options, remembered in [
        ({"authenticator_supplier": "hmac", "hmac_key_file": str(path)}, "_exchanges"),
        ({"authenticator": PasswordFileAuthenticator(passwords, executor=AtOnce())}, "_pending"),
        ({"authenticator": SimpleAuthenticator({})}, "_found"),
        (
            {"authenticator_supplier": "io.aeron.samples.archive.SampleAuthenticatorSupplier"},
            "_credentials",
        ),
    ]:
        rig = make_rig(**options)
        for correlation_id in range(1, 6):
            rig.send(
                ap.AuthConnectRequest(
                    correlation_id=correlation_id,
                    response_stream_id=20,
                    response_channel="aeron:ipc",
                    encoded_credentials=b"ali",
                )
            )
        rig.wait(
            lambda rig=rig: rig.counter(ArchiveCounterType.CONTROL_SESSIONS) == 5, "five sessions"
        )
        authenticator = rig.archive._conductor._sessions._authenticator
        assert len(getattr(authenticator, remembered)) == 5
        rig.pass_time(7000)
        assert rig.counter(ArchiveCounterType.CONTROL_SESSIONS) == 0
        assert len(getattr(authenticator, remembered)) == 0


# -- names ----------------------------------------------------------------------------------------


def config(**properties: str) -> ArchiveConfig:
    layers = Properties()
    for name, text in properties.items():
        layers.set(name, text, "test")
    return ArchiveConfig(layers)


AUTHENTICATOR = "aeron.archive.authenticator.supplier"
AUTHORISATION = "aeron.archive.authorisation.service.supplier"


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("none", "AcceptAll"),
        ("default", "AcceptAll"),
        ("io.aeron.security.DefaultAuthenticatorSupplier", "AcceptAll"),
        ("io.aeron.samples.archive.SampleAuthenticatorSupplier", "SampleAuthenticator"),
        ("password-file", "PasswordFileAuthenticator"),
        ("hmac", "HmacAuthenticator"),
    ],
)
def test_authenticators_by_name(name: str, made: str, keys, passwords) -> None:
    found = access.authenticator_of(
        config(
            **{
                AUTHENTICATOR: name,
                "aerolog.archive.password.file": str(passwords),
                "aerolog.archive.hmac.key.file": str(keys[0]),
            }
        )
    )
    assert type(found).__name__ == made
    getattr(found, "close", lambda: None)()


@pytest.mark.parametrize(
    ("name", "allows"),
    [
        ("ALLOW_ALL", True),
        ("DENY_ALL", False),
        ("io.aeron.security.AuthorisationService.DENY_ALL", False),
    ],
)
def test_authorisation_services_by_name(name: str, allows: bool) -> None:
    found = access.authorisation_of(config(**{AUTHORISATION: name}))
    assert found.is_authorised(101, 4, None, b"") is allows


def test_what_needs_a_file_says_which_property_it_lacks() -> None:
    for prop, name, needs in [
        (AUTHENTICATOR, "password-file", "aerolog.archive.password.file"),
        (AUTHENTICATOR, "hmac", "aerolog.archive.hmac.key.file"),
        (AUTHORISATION, "rules-file", "aerolog.archive.rules.file"),
    ]:
        make = access.authenticator_of if prop == AUTHENTICATOR else access.authorisation_of
        with pytest.raises(ConfigurationError, match=f"needs {needs}"):
            make(config(**{prop: name}))


def test_an_unknown_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError, match="hmac.*entry point group aerolog.authenticators"):
        config(**{AUTHENTICATOR: "com.example.Unknown"})


class Plugged:
    """An authenticator of another package."""

    def __init__(self, given: ArchiveConfig) -> None:
        self.config = given

    def on_connect_request(self, *_: object) -> None: ...
    def on_connected_session(self, *_: object) -> None: ...
    def on_challenge_response(self, *_: object) -> None: ...
    def on_challenged_session(self, *_: object) -> None: ...


def half_made(_config: ArchiveConfig) -> object:
    return object()


def failing(_config: ArchiveConfig) -> object:
    raise RuntimeError("no server")


def test_authenticators_of_other_packages(monkeypatch) -> None:
    group = "aerolog.authenticators"
    declared = metadata.EntryPoints(
        [
            metadata.EntryPoint("plugged", f"{__name__}:Plugged", group),
            metadata.EntryPoint("half", f"{__name__}:half_made", group),
            metadata.EntryPoint("failing", f"{__name__}:failing", group),
        ]
    )
    monkeypatch.setattr(plug_ins, "entry_points", declared.select)
    monkeypatch.setattr("importlib.metadata.entry_points", declared.select)
    monkeypatch.setattr(
        metadata.EntryPoint, "load", lambda self: globals()[self.value.rpartition(":")[2]]
    )
    settings = config(**{AUTHENTICATOR: "plugged"})
    found = access.authenticator_of(settings)
    assert isinstance(found, Plugged)
    assert found.config is settings
    with pytest.raises(ConfigurationError, match="made a object without on_connect_request"):
        access.authenticator_of(config(**{AUTHENTICATOR: "half"}))
    with pytest.raises(ConfigurationError, match="failed: no server"):
        access.authenticator_of(config(**{AUTHENTICATOR: "failing"}))
