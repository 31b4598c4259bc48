"""Commands without an end, with odd words for all that they are told: none ends at fault.

Words that a command can use let it begin: it is interrupted then, as by a person.
"""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from fuzzed_commands import KNOWN, said_within
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import properties as archive_properties
from aerolog.cluster.module import properties as module_properties
from aerolog.cluster.service import options as container_options
from aerolog.tools.command_line.exit_codes import EXIT_INTERRUPTED
from aerolog.transport.client import Aeron
from aerolog.transport.driver import properties as driver_properties

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = {
    "driver": driver_properties.PROPERTIES,
    "archiving-driver": archive_properties.PROPERTIES,
    "archive": archive_properties.PROPERTIES,
    "clustered-driver": module_properties.PROPERTIES,
    "consensus-module": module_properties.PROPERTIES,
    "service-container": container_options.PROPERTIES,
}
#: Those that have no driver of their own, and are given one.
BESIDE = {"archive", "consensus-module", "service-container"}
#: What lets a service begin in a folder, without ports that others may have.
BEGINNING = (
    "aeron.dir={}/driver",
    "aeron.term.buffer.length=64k",
    "aeron.archive.dir={}/archive",
    "aeron.archive.control.channel=aeron:udp?endpoint=localhost:0",
    "aeron.archive.replication.channel=aeron:udp?endpoint=localhost:0",
    "aeron.archive.segment.file.length=64k",
    "aeron.cluster.dir={}/cluster",
    "aeron.cluster.members=0,localhost:0,localhost:0,localhost:0,localhost:0,localhost:0",
    "aeron.cluster.ingress.channel=aeron:ipc",
    "aeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
)
WORDS = (
    "-1", "0", "1", "9" * 5000, "9223372036854775807", "2147483647", "nan", "1e400", "", "x",
    "true", "a\udcffb", "\u0663", "%s", "n" * 300, "loop/x", "pipe", "endless", "http://[", "1ns",
    "zz", "1 2",
    "aeron:udp?endpoint=localhost:99999", "aeron:udp?endpoint=[", "aeron:ipc?term-length=1",
    "localhost:99999", "INVOKER", "0,a:1,b:2", "os:system", "aerolog.transport:nothing",
)  # fmt: skip
TIMEOUT = "aeron.driver.timeout=1000"
#: Seconds after which a command is interrupted: each has begun by then, or ends soon.
PATIENCE_S = 0.25
ENDS = KNOWN | {EXIT_INTERRUPTED}
OPTIONS = {
    "subscribe": ("--format", "--count", "--aeron-dir", "--driver-timeout"),
    "tail": (
        "--from", "--count", "--format", "--live", "--aeron-dir", "--driver-timeout",
        "--control-channel", "--control-stream", "--response-channel", "--response-stream",
        "--archive-timeout", "--user", "--password-file", "--key-file",
    ),
    "top": ("--aeron-dir", "--archive-dir", "--interval"),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with files that words name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AERON_DIR", str(tmp_path / "driver"))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "endless").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.fixture(scope="module")
def live() -> Iterator[tuple[Path, list[str]]]:
    """A driver's directory, and the options that lead to its archive, which records a stream."""
    with (
        memory_folder() as home,
        archiving(home / "aeron", home / "archive"),
        Aeron(home / "aeron") as aeron,
        AeronArchive(aeron) as client,
    ):
        client.start_recording(CHANNEL, STREAM_ID)
        with aeron.add_publication(CHANNEL, STREAM_ID) as publication:
            until(lambda: publication.offer(b"message") > 0, "the message to be taken")
            until(lambda: client.list_recording(0), "the recording to begin")
            yield home / "aeron", ["--control-channel", "aeron:ipc"]


def faults(rng: random.Random, service: str, home: Path, beside: Path, count: int) -> list[Any]:
    """Start a service once for each of some settings, with a word that is none of its values.

    Returns:
        The calls that did not end as a service that knows what is wrong, and what they said.
    """
    found = []
    names = [prop.name for prop in SETTINGS[service]]
    given = {text.partition("=")[0]: text.format(home) for text in BEGINNING}
    if service in BESIDE:
        given |= {"aeron.dir": f"aeron.dir={beside}", "aeron.driver.timeout": TIMEOUT}
    for name in rng.sample(names, min(count, len(names))):
        for part in ("driver", "archive", "cluster"):
            shutil.rmtree(home / part, ignore_errors=True)
        # An empty name of a folder means the user's own.
        word = rng.choice([word for word in WORDS if word or not name.endswith("dir")])
        words = [service, *(["cluster_echo:EchoService"] if service == "service-container" else [])]
        words += [f"-D{text}" for text in (given | {name: f"{name}={word}"}).values()]
        code, error = said_within(PATIENCE_S, *words)
        if code not in ENDS or "Traceback" in error:
            found.append((name, word[:50], code, error))
    return found


@pytest.mark.parametrize("service", SETTINGS)
def test_settings_of_a_service(service: str, place: Path, live: tuple[Path, list[str]]) -> None:
    assert faults(random.Random(service), service, place, live[0], 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("service", SETTINGS)
def test_all_settings_of_a_service(
    service: str, seed: int, place: Path, live: tuple[Path, list[str]]
) -> None:
    rng = random.Random(f"{service} {seed}")
    assert faults(rng, service, place, live[0], 1000) == []


@pytest.mark.parametrize("service", SETTINGS)
def test_files_of_settings(service: str, place: Path) -> None:
    """What is no file of settings is refused, and lines that are none are told or passed over."""
    (place / "odd").write_bytes(
        b"\xff\xfe\0=\n\\u12\naeron.dir\n=\n" + b"aerolog.strict=true\n" * 3
    )
    for file in ("odd", "pipe", "endless", "loop", "missing", "http://[", "."):
        code, error = said_within(PATIENCE_S, service, f"-Daeron.dir={place}/driver", file)
        assert code in {1, 2}, (file, error)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_what_prints_until_it_is_ended(
    name: str, place: Path, live: tuple[Path, list[str]]
) -> None:
    rng = random.Random(name)
    for option in (*OPTIONS[name], "argument"):
        check_options(rng, name, option, live)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", OPTIONS)
def test_more_options_of_what_prints_until_it_is_ended(
    name: str, seed: int, place: Path, live: tuple[Path, list[str]]
) -> None:
    rng = random.Random(f"{name} {seed}")
    for option in (*OPTIONS[name], "argument"):
        check_options(rng, name, option, live)


def check_options(rng: random.Random, name: str, option: str, live: tuple[Path, list[str]]) -> None:
    """Call a command with an odd word for one of its options, or for an argument."""
    aeron_dir, to_archive = live
    given: dict[str, str] = {"--aeron-dir": str(aeron_dir), "--driver-timeout": "0.05"}
    arguments = {"subscribe": [CHANNEL, str(STREAM_ID)], "tail": ["0"], "top": []}[name]
    if name == "tail":
        given |= {to_archive[0]: to_archive[1], "--archive-timeout": "0.2"}
    if name == "top":
        del given["--driver-timeout"]
    word = rng.choice(WORDS)
    if option == "argument":
        arguments = [*arguments[:-1], word]
    else:
        given[option] = word
    words = [name, *arguments, *(part for pair in given.items() for part in pair)]
    code, error = said_within(PATIENCE_S, *words)
    assert code in ENDS, (words, error)
    assert "Traceback" not in error, (words, error)
