"""Who commands say they are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import typer

from aerolog.tools.command_line.options import ArchiveOptions
from aerolog.tools.connection import credentials
from aerolog.tools.main import main
from aerolog.transport.credentials import HmacCredentials, PasswordCredentials
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("open sesame\nsecond line\n")
    return str(path)


def test_without_a_user_there_are_no_credentials() -> None:
    assert credentials.credentials_of(ArchiveOptions()) == b""


def test_a_password_is_the_first_line_of_a_file(secret: str) -> None:
    found = credentials.credentials_of(ArchiveOptions(user="ann", password_file=secret))

    assert found == PasswordCredentials("ann", "open sesame")


def test_a_key_is_that_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys\nbob:{'22' * 16}\nann:{'11' * 16}\n")
    options = ArchiveOptions(user="ann", key_file=str(path))

    assert credentials.credentials_of(options) == HmacCredentials("ann", b"\x11" * 16)
    with pytest.raises(ConfigurationError, match="has no key of eve"):
        credentials.credentials_of(ArchiveOptions(user="eve", key_file=str(path)))
    path.write_text("ann:short\n")
    with pytest.raises(ConfigurationError, match=r"keys:1: "):
        credentials.credentials_of(options)


@pytest.mark.parametrize(
    "options",
    [
        ArchiveOptions(password_file="x"),
        ArchiveOptions(key_file="x"),
        ArchiveOptions(user="ann", password_file="x", key_file="x"),
    ],
)
def test_options_that_do_not_go_together_are_usage(options: ArchiveOptions) -> None:
    with pytest.raises(typer.BadParameter):
        credentials.credentials_of(options)


def test_without_a_file_the_password_is_asked_for_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def prompt(text: str, **options: Any) -> str:
        assert (text, options["hide_input"]) == ("Password of ann", True)
        return "typed"

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(credentials.typer, "prompt", prompt)

    assert credentials.credentials_of(ArchiveOptions(user="ann")) == (
        PasswordCredentials("ann", "typed")
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("typed\n"))
    with pytest.raises(typer.BadParameter, match="no terminal"):
        credentials.credentials_of(ArchiveOptions(user="ann"))


def passwords(monkeypatch: pytest.MonkeyPatch, *arguments: object, stdin: str = "") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    return main(["passwords", *map(str, arguments)])


def test_users_are_set_listed_checked_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"

    assert passwords(monkeypatch, "set", file, "ann", "--stdin", stdin="one\n") == 0
    assert passwords(monkeypatch, "set", file, "bob", "--stdin", stdin="two\n") == 0
    assert passwords(monkeypatch, "set", file, "ann", "--stdin", stdin="three\n") == 0
    assert passwords(monkeypatch, "list", file) == 0
    assert passwords(monkeypatch, "check", file, "ann", "--stdin", stdin="three\n") == 0
    assert capsys.readouterr().out.splitlines() == [
        "ann: password set", "bob: password set", "ann: password changed", "ann", "bob",
        "ann: the password is right",
    ]  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o600
    assert "three" not in file.read_text()

    assert passwords(monkeypatch, "check", file, "ann", "--stdin", stdin="one\n") == 1
    assert passwords(monkeypatch, "check", file, "eve", "--stdin", stdin="one\n") == 1
    assert passwords(monkeypatch, "remove", file, "ann") == 0
    assert passwords(monkeypatch, "remove", file, "ann") == 1
    capsys.readouterr()
    assert passwords(monkeypatch, "list", file, "--json") == 0
    assert capsys.readouterr().out == '[\n  "bob"\n]\n'


def test_a_file_that_is_none_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    file.write_text("# users\nann:secret\n")

    assert passwords(monkeypatch, "list", file) == 1
    assert capsys.readouterr().err.startswith(f"aerolog: {file}:2: expected user:scrypt")
    assert passwords(monkeypatch, "remove", file, "ann") == 1
    assert passwords(monkeypatch, "list", tmp_path / "none") == 1
    assert file.read_text() == "# users\nann:secret\n"


@pytest.mark.parametrize(("user", "stdin"), [("a:b", "x\n"), ("ann", "\n"), ("", "x\n")])
def test_names_and_passwords_that_cannot_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, stdin: str
) -> None:
    assert passwords(monkeypatch, "set", tmp_path / "users", user, "--stdin", stdin=stdin) == 1
    assert not (tmp_path / "users").exists()


def test_a_new_key_is_a_line_of_a_file_of_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert passwords(monkeypatch, "key", "ann") == 0
    path = tmp_path / "keys"
    path.write_text(capsys.readouterr().out)

    found = credentials.credentials_of(ArchiveOptions(user="ann", key_file=str(path)))

    assert isinstance(found, HmacCredentials)
    assert len(found.key) == 32


def test_a_password_s_line_from_standard_input_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    assert passwords(monkeypatch, "set", file, "ann", "--stdin", stdin="x" * 70_000) == 1
    assert "standard input is longer than 65536 characters" in capsys.readouterr().err
    assert not file.exists()
