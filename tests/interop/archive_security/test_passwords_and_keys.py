"""Our own authenticators and the reference's client, which needs nothing of ours to use them."""

from __future__ import annotations

import pytest
from waits import wait_until

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.credentials import HmacCredentials, PasswordCredentials
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.security import new_key, set_password

pytestmark = pytest.mark.interop
REJECTED = ArchiveErrorCode.AUTHENTICATION_REJECTED
REJECTED_COUNTER = ArchiveCounterType.AUTHENTICATIONS_REJECTED


def test_a_password_from_both_clients(
    tmp_path, guarded, java_client, java_refusal, our_client, our_archive_client
) -> None:
    path = tmp_path / "passwords"
    set_password(path, "ali", "open: sesame")
    server = guarded(
        "ours",
        **{
            "aeron.archive.authenticator.supplier": "password-file",
            "aerolog.archive.password.file": str(path),
        },
    )
    good = PasswordCredentials("ali", "open: sesame")
    archive = java_client(server.aeron_dir).archive(credentials=good.encoded_credentials().hex())
    assert archive.recordings(from_=0, count=1) == []
    assert our_archive_client(server.aeron_dir, credentials=good).list_recordings() == []
    bad = [b"", b"ali:", b"ali:sesame", b"baba:open: sesame"]
    for credentials in bad:
        assert java_refusal(server, credentials=credentials.hex())[0] == REJECTED
        with pytest.raises(ArchiveError) as refused:
            our_archive_client(server.aeron_dir, credentials=credentials)
        assert refused.value.code == REJECTED
    counters = our_client(server.aeron_dir).counters
    wait_until(
        lambda: counters.find(type_id=REJECTED_COUNTER).value >= 2 * len(bad), "all to be counted"
    )
    assert counters.find(type_id=REJECTED_COUNTER).value == 2 * len(bad)
    # Who is in stays in; a changed file counts for those who come.
    set_password(path, "ali", None)
    assert archive.recordings(from_=0, count=1) == []


def test_a_key_from_both_clients(
    tmp_path, guarded, java_client, java_refusal, our_archive_client
) -> None:
    path = tmp_path / "keys"
    key = new_key()
    path.touch(0o600)
    path.write_text(f"ali:{key}\n")
    server = guarded(
        "ours",
        **{
            "aeron.archive.authenticator.supplier": "hmac",
            "aerolog.archive.hmac.key.file": str(path),
        },
    )
    name = b"ali".hex()
    archive = java_client(server.aeron_dir).archive(credentials=name, hmac_key=key)
    assert archive.recordings(from_=0, count=1) == []
    ali = HmacCredentials("ali", bytes.fromhex(key))
    ours = our_archive_client(server.aeron_dir, credentials=ali)
    assert ours.list_recordings() == []
    other = new_key()
    for options in (
        {},
        {"credentials": name, "hmac_key": other},
        {"credentials": name, "answer": "00" * 32},
        {"credentials": b"baba".hex(), "hmac_key": key},
    ):
        assert java_refusal(server, **options)[0] == REJECTED, options
    stranger = HmacCredentials("ali", bytes.fromhex(other))
    with pytest.raises(ArchiveError) as refused:
        our_archive_client(server.aeron_dir, credentials=stranger)
    assert refused.value.code == REJECTED
