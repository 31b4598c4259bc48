"""Files of passwords, keys and rules: what is taken, what is refused, when changes count."""

from __future__ import annotations

import logging
import stat

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.service.access_rules import GROUPS, REQUESTS, parse_rules
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.security import hash_password, new_key, set_password
from aerolog.transport.security.hmac_challenge import parse_keys
from aerolog.transport.security.passwords import HashedPassword, parse_passwords
from aerolog.transport.security.watched_file import WatchedFile

CHEAP = 4


def template(message: type[ap.Message]) -> int:
    return message.LAYOUT.template_id


def test_a_password_matches_its_own_hash_alone() -> None:
    hashed = hash_password("open: sesame", log_n=CHEAP)
    assert hashed.matches(b"open: sesame")
    assert not hashed.matches(b"open: sesam")
    assert not hashed.matches(b"")


def test_the_hash_is_the_scrypt_of_rfc_7914() -> None:
    expected = bytes.fromhex("fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162")
    hashed = hash_password("password", log_n=10, r=8, p=1, salt=b"NaCl")
    assert len(hashed.digest) == 32
    assert HashedPassword(10, 8, 1, b"NaCl", hashed.digest).matches(b"password")
    # The vector has p=16, above what files may ask for: computed without the check.
    assert HashedPassword(10, 8, 16, b"NaCl", b"").digest_of(b"password") == expected


def test_two_hashes_of_a_password_differ() -> None:
    first, second = (hash_password("same", log_n=CHEAP) for _ in range(2))
    assert first.salt != second.salt
    assert first.digest != second.digest


def test_a_password_file_is_made_changed_and_cleared(tmp_path) -> None:
    path = tmp_path / "passwords"
    assert not set_password(path, "ali", "one", log_n=CHEAP)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("# ours\n" + path.read_text())
    assert not set_password(path, "baba", "two", log_n=CHEAP)
    assert set_password(path, "ali", "three", log_n=CHEAP)
    found = parse_passwords(path.read_text())
    assert set(found) == {b"ali", b"baba"}
    assert found[b"ali"].matches(b"three")
    assert not found[b"ali"].matches(b"one")
    assert set_password(path, "ali", None)
    assert set(parse_passwords(path.read_text())) == {b"baba"}
    assert path.read_text().startswith("# ours\n")
    assert list(tmp_path.iterdir()) == [path]
    assert "two" not in path.read_text()


@pytest.mark.parametrize("user", ["", "a:b", "a\nb", " a", "a\0"])
def test_a_name_that_no_line_can_carry_is_refused(tmp_path, user: str) -> None:
    with pytest.raises(ConfigurationError, match="user"):
        set_password(tmp_path / "passwords", user, "secret", log_n=CHEAP)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ali:secret", "expected user:scrypt"),
        ("ali:md5:ln=4,r=8,p=1:AAAA:AAAA", "expected user:scrypt"),
        ("ali:scrypt:ln=30,r=8,p=1:AAAA:AAAA", "ln is at most"),
        ("ali:scrypt:ln=4,r=8,p=1:????:AAAA", "base64"),
        ("ali:scrypt:ln=4,r=8,p=1:AAAA:AAAA", "a salt has at least"),
        (":scrypt:ln=4,r=8,p=1:AAAA:AAAA", "a name is not empty"),
    ],
)
def test_a_line_that_is_no_password_is_refused_with_its_number(line: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        parse_passwords(f"\n# comment\n{line}\n")
    assert str(refused.value).startswith("3: ")


def test_a_user_stands_once() -> None:
    line = f"ali:{hash_password('x', log_n=CHEAP)}"
    with pytest.raises(ConfigurationError, match="2: user 'ali' a second time"):
        parse_passwords(f"{line}\n{line}\n")


def test_keys_are_hexadecimal_and_long() -> None:
    key = new_key()
    assert parse_keys(f"ali:{key}\n") == {b"ali": bytes.fromhex(key)}
    assert new_key() != key
    for line, says in {
        "ali:xyz": "expected user:KEY",
        f"a b : {key}": "expected user:KEY",
        "ali:0011": "at least 16 bytes, not 2",
        f"ali:{key}\nali:{key}": "2: user 'ali' a second time",
    }.items():
        with pytest.raises(ConfigurationError, match=says):
            parse_keys(line)


def test_a_file_that_others_can_write_or_read_is_refused(tmp_path) -> None:
    path = tmp_path / "keys"
    path.write_text("x")
    for mode, private, refused in [
        (0o600, True, False),
        (0o640, True, True),
        (0o604, True, True),
        (0o644, False, False),
        (0o660, False, True),
        (0o602, False, True),
    ]:
        path.chmod(mode)
        if refused:
            with pytest.raises(ConfigurationError, match=f"{mode:04o} gives others too much"):
                WatchedFile(path, str, private=private)
        else:
            assert WatchedFile(path, str, private=private).current() == "x"


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere: No such file"):
        WatchedFile(tmp_path / "nowhere", str, private=True)


def test_a_file_is_read_again_when_it_has_changed(tmp_path, caplog) -> None:
    def parse(text: str) -> int:
        if not text.isdigit():
            raise ConfigurationError("1: no number")
        return int(text)

    path = tmp_path / "number"
    path.write_text("1")
    file = WatchedFile(path, parse, private=False, check_interval_s=0)
    assert file.current() == 1
    path.write_text("22")
    assert file.current() == 22
    with caplog.at_level(logging.WARNING, logger="aerolog.security"):
        path.write_text("three")
        assert [file.current() for _ in range(3)] == [22] * 3
        path.unlink()
        assert [file.current() for _ in range(3)] == [22] * 3
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "1: no number; what was read before stays in force" in caplog.messages[0]
    path.write_text("4")
    assert file.current() == 4


def test_every_request_belongs_to_one_group() -> None:
    named = [each for group in GROUPS.values() for each in group]
    assert len(named) == len(set(named))
    sent_without_a_rule = {
        ap.ConnectRequest,
        ap.AuthConnectRequest,
        ap.CloseSessionRequest,
        ap.ChallengeResponse,
    }
    sent_by_archives = {
        m for m in ap.MESSAGES.values() if "Request" not in m.LAYOUT.name
    } - sent_without_a_rule
    assert set(ap.MESSAGES.values()) == set(named) | sent_without_a_rule | sent_by_archives
    assert len(REQUESTS) == len(named)


def test_own_rules_stand_before_general_ones_and_requests_before_all() -> None:
    rules = parse_rules(
        """
        # who         what
        *             allow query
        *             deny  FindLastMatchingRecordingRequest
        ali           allow all
        ali           deny  PurgeRecordingRequest
        "baba jaga"   allow replay   # a comment
        -             deny  ArchiveIdRequest
        """
    )
    purge, find, listing = (
        template(ap.PurgeRecordingRequest),
        template(ap.FindLastMatchingRecordingRequest),
        template(ap.ListRecordingsRequest),
    )
    assert rules.allows(b"ali", find)
    assert not rules.allows(b"ali", purge)
    assert rules.allows(b"baba jaga", template(ap.ReplayRequest))
    assert rules.allows(b"baba jaga", listing)
    assert not rules.allows(b"baba jaga", find)
    assert not rules.allows(b"baba jaga", purge)
    assert rules.allows(b"who", template(ap.ArchiveIdRequest))
    assert not rules.allows(b"", template(ap.ArchiveIdRequest))
    assert rules.allows(b"", template(ap.KeepAliveRequest))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ali", "expected PRINCIPAL"),
        ("ali allow", "expected PRINCIPAL"),
        ("ali permit all", "expected PRINCIPAL"),
        ('"ali allow all', "expected PRINCIPAL"),
        ("ali allow everything", "'everything' is no request"),
        ("ali allow ConnectRequest", "'ConnectRequest' is no request"),
    ],
)
def test_a_line_that_is_no_rule_is_refused_with_its_number(line: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as refused:
        parse_rules(f"* allow all\n{line}")
    assert str(refused.value).startswith("2: ")
