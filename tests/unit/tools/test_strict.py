"""``--strict``: one option of all commands that reach a driver, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from live_archive import archiving
from shared_memory import memory_folder

from aerolog.tools.main import main

from .test_help import ALL

UNKNOWN = "AERON_TERM_BUFER_LENGTH"
LINE = (
    f"unknown variable {UNKNOWN}; did you mean AERON_TERM_BUFFER_LENGTH? (environment {UNKNOWN})\n"
)


def options(command: Any) -> dict[str, Any]:
    """The options of a command by their names."""
    return {name: param for param in command.params for name in param.opts}


REACHING = {path for path, one in ALL.items() if "--driver-timeout" in options(one)}
LOOKING = {
    *("stat", "streams", "errors", "loss", "backlog", "driver-tool"),
    *("top", "doctor", "serve-metrics"),
}
SERVICES = {
    "driver",
    "archiving-driver",
    "archive",
    "clustered-driver",
    "consensus-module",
    "service-container",
}


def test_it_is_the_same_option_wherever_a_driver_is_reached() -> None:
    having = {path: one for path, one in ALL.items() if "--strict" in options(one)}

    assert having.keys() == REACHING | LOOKING | SERVICES
    for names in (REACHING | LOOKING, SERVICES):
        assert len({options(having[name])["--strict"].help for name in names}) == 1


@pytest.mark.parametrize("command", sorted(REACHING | LOOKING))
def test_an_unknown_variable_ends_a_strict_command(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(UNKNOWN, "64k")

    code = main([*command.split(), "--strict", "--aeron-dir", "/dev/shm/nothing-is-here"])

    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert err.endswith(LINE)


def test_a_strict_client_refuses_a_channel_with_an_unknown_parameter(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    with memory_folder() as home, archiving(home / "a", tmp_path / "archive"):
        for command in (
            ["publish", "aeron:ipc?term-lenght=64k", "7", "--count", "1"],
            ["subscribe", "aeron:ipc?term-lenght=64k", "7"],
            ["record", "aeron:ipc?term-lenght=64k", "7"],
        ):
            assert main([*command, "--strict", "--aeron-dir", str(home / "a")]) == 1
            assert "did you mean term-length?" in capsys.readouterr().err
        assert main(["recordings", "list", "--strict", "--aeron-dir", str(home / "a")]) == 0
