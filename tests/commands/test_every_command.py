"""Every command, each of its options with odd words: it ends as one that knows what is wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from fuzzed_commands import KNOWN, said
from walked_commands import COMMANDS, ENDING, GIVEN, LEFT_OUT, leaves, valued_options

from aerolog.tools.connection.credentials import read_password
from aerolog.transport.errors import ConfigurationError, NoRegularFileError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    "http://[", "https://h/%00", "file://[", "file:///%00", "sqlite:///[", "postgresql://[",
    "s3://[", "loop", "loop/x", "n" * 300, "missing", "a\udcffb", "9" * 5000, "-1", "nan", "",
    "not-text", "deep.toml", "wide.toml", "endless", "long",
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with files that words name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "long").write_bytes(bytes(1024 * 1024 + 1))
    (tmp_path / "not-text").write_bytes(b"\xff\xfe:\xff\n")
    (tmp_path / "deep.toml").write_text("a=" + "[" * 5000)
    (tmp_path / "wide.toml").write_text("a=" + "9" * 5000)
    return tmp_path


def test_those_left_out_are_commands() -> None:
    assert {path.split()[0] for path, _ in leaves()} >= LEFT_OUT
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("path", COMMANDS)
def test_odd_words(path: str, place: Path, archive: Path) -> None:
    assert faults(path, archive, random.Random(path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("path", COMMANDS)
def test_more_odd_words(path: str, seed: int, place: Path, archive: Path) -> None:
    assert faults(path, archive, random.Random(f"{path} {seed}")) == []


def faults(path: str, archive: Path, rng: random.Random) -> list[tuple[list[str], str]]:
    """Call a command once for each of its options, with a word that is none of its values.

    Returns:
        The calls that did not end as a command that knows what is wrong, and what they said.
    """
    found = []
    command = COMMANDS[path]
    options = valued_options(command)
    given = {name: value for name, value in GIVEN.items() if name in options}
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    for option in (*options, ""):
        words = [*path.split(), *ENDING.get(path, ())]
        for name, value in given.items():
            if name != option:
                words += [name, value.replace("ARCHIVE", str(archive))]
        if option:
            words += [option, rng.choice(WORDS)]
        words += [rng.choice(WORDS) if option == "" else "0" for _ in arguments]
        code, error = said(*words)
        if code not in KNOWN or "Traceback" in error:
            found.append((words, error))
    return found


@pytest.mark.parametrize(
    ("words", "said_of"),
    [
        ("passwords list endless", "endless: it is no regular file"),
        ("passwords remove endless ann", "endless: it is no regular file"),
        ("pipeline run endless", "it is no regular file"),
        ("pipeline run long", "long: is longer than 1048576 bytes"),
        ("passwords list long", "long: longer than 1048576 bytes"),
        ("retention plan --archive-dir ARCHIVE --policies long", "longer than 1048576 bytes"),
        ("driver http://[", "loading properties from 'http://['"),
        ("driver http://h/\x01", "loading properties from"),
        ("serve-metrics --otlp http://[", "is no URL"),
        ("export 1 --archive-dir ARCHIVE --to s3://[", "is no URL"),
        ("export 1 --archive-dir ARCHIVE --to file://[", "is no URL"),
        ("pipeline run deep.toml", "is not TOML"),
        ("pipeline run wide.toml", "is not TOML"),
        ("catalog show --archive-dir ARCHIVE " + "9" * 5000, "no recording id"),
    ],
)
def test_the_message_names_value_and_reason(
    words: str, said_of: str, place: Path, archive: Path
) -> None:
    code, error = said(*words.replace("ARCHIVE", str(archive)).split(" "))
    assert code in {1, 2}, error
    assert said_of in error.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "reason"), [("long", "longer than 65536 bytes"), ("not-text", "no UTF-8 text")]
)
def test_a_password_s_file(place: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}: the first line is {reason}"):
        read_password(name)


def test_a_password_s_file_is_a_regular_one(place: Path) -> None:
    with pytest.raises(NoRegularFileError):
        read_password("endless")
