"""Texts that are shown or stored have no secrets in them."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aerolog.transport.errors import AerologError
from aerolog.transport.secrets import without_secrets, without_secrets_in


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/data/archive", "/data/archive"),
        ("postgresql+psycopg://me:hush@host:5432/db", "postgresql+psycopg://host:5432/db"),
        ("postgresql://me:hush@hush@host/db", "postgresql://host/db"),
        ("postgresql://me:hu/sh@host/db", "postgresql://host/db"),
        ("postgresql://me:hu?sh@host/db", "postgresql://host/db"),
        ("postgresql://me:hu#sh@host/db", "postgresql://host/db"),
        ("postgresql://me@host/db?password=hush&sslmode=require",
         "postgresql://host/db?sslmode=require"),
        ("postgresql:///db?host=/tmp/x&password=hush", "postgresql:///db?host=/tmp/x"),
        ("s3://AKIA:hu/sh+hush=@bucket/path", "s3://bucket/path"),
        ("s3://bucket/path@v1/x", "s3://bucket/path@v1/x"),
        ("s3://bucket:9000/path@v1", "s3://bucket:9000/path@v1"),
        ("s3://b/p?secret_key=hush&region=r", "s3://b/p?region=r"),
        ("abfs://c@a.dfs.core.windows.net/p?sas=hush&sig=hush", "abfs://a.dfs.core.windows.net/p"),
        ("abfss://c/p?sv=1&sig=hush&account_key=hush", "abfss://c/p?sv=1"),
        ("http://[::1]:80/x?token=hush", "http://[::1]:80/x"),
        ("spark://me:hush@master:7077", "spark://master:7077"),
        ("cannot reach 's3://k:hush@b/x': refused", "cannot reach 's3://b/x': refused"),
        ("two: s3://k:hush@a and s3://k:hush@b.", "two: s3://a and s3://b."),
        ("encodedCredentialsLength=12 password=hush", "encodedCredentialsLength=12 password=***"),
        ("passwordlength=hush1", "passwordlength=***"),
        ("FATAL: password=hush host=h", "FATAL: password=*** host=h"),
        ("fs.azure.account.key.acc = hush", "fs.azure.account.key.acc = ***"),
        ("secret_access_key=hush, region=r", "secret_access_key=***, region=r"),
        ("term-length=64k|key=value", "term-length=64k|key=value"),
        ("timeout for replayToken=17 of session 3", "timeout for replayToken=17 of session 3"),
        ("the password: is missing", "the password: is missing"),
        ("password='hu sh', retries=3", "password=***, retries=3"),
        ("{'password': 'hu sh', 'user': 'me'}", "{'password': '***', 'user': 'me'}"),
        ("(sqlite: password=hu,sh)", "(sqlite: password=***)"),
        ("s3://bucket/my folder?secret_key=hush", "s3://bucket/my folder?secret_key=***"),
        ("postgresql://me:it's hush@host/db is down", "postgresql://host/db is down"),
        ("at http://host:80, and x@y", "at http://host:80, and x@y"),
        ("spark.hadoop.fs.s3a.secret.key=hu/sh+=", "spark.hadoop.fs.s3a.secret.key=***"),
        ("s3://b/p?kms_key_id=hush", "s3://b/p"),
        ("/here/s3:/AKIA:hu/sh@b/p: no such file", "/here/s3:/b/p: no such file"),
        ("password='it\\'s hush', a=1", "password=***, a=1"),
        ("{'password': b'hush'}", "{'password': '***'}"),
        ("Authorization: Bearer hush.hush", "Authorization: ***"),
        ("{'Authorization': 'Basic hush=='}", "{'Authorization': '***'}"),
        ("postgresql://h/db?options=-c%20password=hush&a=1", "postgresql://h/db?a=1"),
        ("http://h/x?to=http%3A%2F%2Fme%3Ahush%40h", "http://h/x"),
        ("http://h/x?a=1;password=hush", "http://h/x"),
        ("http://h/x#access_token=hush", "http://h/x#access_token=***"),
        ("AccountName=a;AccountKey=hush==;EndpointSuffix=x", "AccountName=a;AccountKey=***"),
        ("BlobEndpoint=https://a/;SharedAccessSignature=sv=1&sig=hush",
         "BlobEndpoint=https://a/;SharedAccessSignature=***"),
        ("jdbc:sqlserver://h;user=u;password=hush;", "jdbc:sqlserver://h;user=u;password=***;"),
        ("the authorization: it is missing", "the authorization: it is missing"),
        ("netloc 'me:hush@b' is odd", "netloc 'b' is odd"),
        ("no host me:hu/sh@127.0.0.1:1, try again", "no host 127.0.0.1:1, try again"),
        ("image a:80@b of 10:30 to c@d", "image a:80@b of 10:30 to c@d"),
        ("sqlite:////here/a@b.db", "sqlite:////here/a@b.db"),
        ("nfs:/home/me@here/x:y", "nfs:/home/me@here/x:y"),
    ],
)  # fmt: skip
def test_of_a_text(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown
    assert "hush" not in shown


SECRET = st.text(st.sampled_from("abcXYZ019/@:+=-_.~%!$*()"), min_size=1, max_size=20)


@settings(deadline=None)
@given(SECRET, st.sampled_from(["s3", "postgresql", "abfs", "http"]))
@example("a@b/c:d", "s3")
def test_no_password_is_shown_whatever_stands_in_it(secret: str, scheme: str) -> None:
    marked = f"hush{secret}hush"
    shown = without_secrets(f"error at {scheme}://user:{marked}@host/path?x=1, try again")
    assert "hush" not in shown
    assert shown.startswith(f"error at {scheme}://")
    assert "host/path?x=1" in shown


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_taken(text: str) -> None:
    once = without_secrets(text)
    assert without_secrets(once) == once


@pytest.mark.parametrize(
    "part", ["a:/b:x ", "=a:b", "password", "x.secret", "w-w.", "pwd=", "'token'", "s3://k:", "a@"]
)
def test_the_time_grows_with_the_length_alone(part: str) -> None:
    def spent(count: int) -> float:
        text = "@://secret" + part * count
        begun = time.process_time()
        without_secrets(text)
        return time.process_time() - begun

    # The square would take 64 times as long; a short text is bounded by the clock's resolution.
    spent(100)
    assert spent(16_000) < 24 * max(min(spent(2000) for _ in range(3)), 0.001)


def test_an_error_shows_none_wherever_its_text_goes() -> None:
    error = AerologError("cannot reach s3://k:hu/hush@b/x?sas=hush")
    assert str(error) == "cannot reach s3://b/x"
    assert "hush" not in repr(error)


def test_of_a_document() -> None:
    document = {"a": ["s3://k:hush@b"], "n": 1, "password": "hush", "s3://k:hush@b": {"token": 3}}
    assert without_secrets_in(document) == {
        "a": ["s3://b"], "n": 1, "password": "***", "s3://b": {"token": 3}
    }  # fmt: skip
