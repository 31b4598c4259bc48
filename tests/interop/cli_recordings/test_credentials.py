"""Commands that say who they are, to archives that ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run

pytestmark = pytest.mark.interop


def test_the_sample_authenticator_of_either_make_takes_user_and_password(
    run: Run, start_server: Any, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("admin\n")
    for make in ("reference", "ours"):
        server = start_server(
            make,
            "archiving-driver",
            properties={
                "aeron.archive.authenticator.supplier": (
                    "io.aeron.samples.archive.SampleAuthenticatorSupplier"
                )
            },
        )
        who = ["--user", "admin", "--password-file", secret]
        assert run(server, "recordings", "list", "--json", *who).json() == []
        stranger = run(server, "recordings", "list", "--json")
        assert stranger.code == 1
        assert "reject" in stranger.err


def test_users_of_a_password_file_made_by_command_get_in(
    run: Run, start_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    from aerolog.tools.main import main

    users, secret = tmp_path / "users", tmp_path / "secret"
    secret.write_text("open sesame\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("open sesame\n"))
    assert main(["passwords", "set", str(users), "ann", "--stdin"]) == 0
    server = start_server(
        "ours",
        "archiving-driver",
        properties={
            "aeron.archive.authenticator.supplier": "password-file",
            "aerolog.archive.password.file": str(users),
        },
    )
    listing = ["recordings", "list", "--json"]

    assert run(server, *listing, "--user", "ann", "--password-file", secret).json() == []
    stranger = run(server, *listing, "--user", "eve", "--password-file", secret)
    assert stranger.code == 1
    assert "reject" in stranger.err
    monkeypatch.setenv("AEROLOG_ARCHIVE_USER", "ann")
    monkeypatch.setenv("AEROLOG_ARCHIVE_PASSWORD_FILE", str(secret))
    assert run(server, *listing).json() == []


def test_a_key_made_by_command_gets_in(
    run: Run, start_server: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from aerolog.tools.main import main

    capfd.readouterr()
    assert main(["passwords", "key", "ann"]) == 0
    keys = tmp_path / "keys"
    keys.write_text(capfd.readouterr().out)
    keys.chmod(0o600)
    server = start_server(
        "ours",
        "archiving-driver",
        properties={
            "aeron.archive.authenticator.supplier": "hmac",
            "aerolog.archive.hmac.key.file": str(keys),
        },
    )

    assert (
        run(server, "recordings", "list", "--json", "--user", "ann", "--key-file", keys).json()
        == []
    )
