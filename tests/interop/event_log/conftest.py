"""Drivers and archives of both makes that log their events: ours by property, theirs by the agent.

The agent's newest published version is 1.48.0; it runs in the reference's own 1.51.0.
"""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from peer.artifact import JVM_FLAGS, PeerUnavailable, cache_dir, locked, program, run, toolchain
from peer.process import ServerProcess
from peer.servers import ServerSpec, start_ours
from prerequisites import skip_without_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

AGENT = "io.aeron:aeron-agent:1.48.0"
WAIT_S = 60.0
LINE = re.compile(r"\[\d+\.\d{9}\] (DRIVER|ARCHIVE|CLUSTER): (\w+) \[\d+/\d+\]: (.*)")


def agent_jar() -> Path:
    """The reference's agent, fetched once by Maven, which verifies its checksum."""
    jar = cache_dir() / "maven" / "aeron-agent-1.48.0.jar"
    with locked("maven"):
        if jar.exists():
            return jar
        fresh = cache_dir() / "maven-agent.part"
        run(
            [
                *(program("mvn", "maven"), "-q", "-B", "--strict-checksums", "dependency:copy"),
                *(f"-Dartifact={AGENT}", f"-DoutputDirectory={fresh}"),
            ],
            f"fetching {AGENT} with Maven",
            timeout=300,
        )
        jar.parent.mkdir(exist_ok=True)
        (fresh / jar.name).rename(jar)
        shutil.rmtree(fresh)
    return jar


@pytest.fixture(scope="session")
def agent(reference: Any) -> Path:
    """The agent's jar; without it a visible skip, or under CI a failure."""
    del reference
    try:
        return agent_jar()
    except PeerUnavailable as reason:
        skip_without_program(f"no reference agent: {reason}")


@dataclass
class Logging:
    """A server whose events go to a file.

    Attributes:
        process: of the server.
        aeron_dir: its directory.
        path: the file.
    """

    process: ServerProcess
    aeron_dir: str
    path: Path

    def lines(self) -> list[tuple[str, str]]:
        """Name and text of each line of an event."""
        if not self.path.exists():
            return []
        text = self.path.read_text()
        matches = [LINE.fullmatch(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return [(match[2], match[3]) for match in matches if match]

    def wait(self, name: str, part: str = "", count: int = 1) -> None:
        """Until an event was logged so often with a text; fails when it is not."""
        deadline = time.monotonic() + WAIT_S
        while sum(part in text for found, text in self.lines() if found == name) < count:
            assert time.monotonic() < deadline, f"no {name} with {part!r} in {self.lines()}"
            time.sleep(0.005)


@pytest.fixture
def log_events(agent: Path, tmp_path: Path, aeron_dir: Path) -> Iterator[Callable[..., Logging]]:
    """``log_events(make, kind, **properties)`` starts a server; all go to the same directory."""
    started: list[ServerProcess] = []

    def start(make: str, kind: str, properties: dict[str, str]) -> Logging:
        path = tmp_path / f"{make}.log"
        spec = ServerSpec(
            kind,
            aeron_dir,
            tmp_path / f"archive-{make}",
            {
                "aeron.event.log.filename": str(path),
                "aeron.timer.interval": "100ms",
                "aeron.publication.linger.timeout": "200ms",
                "aeron.image.liveness.timeout": "3s",
                "aeron.dir.delete.on.start": "true",
                **properties,
            },
        )
        if make == "ours":
            process = start_ours(spec).process
        else:
            command = toolchain().command("Server", kind, properties=spec.all_properties())
            assert command[1 : 1 + len(JVM_FLAGS)] == list(JVM_FLAGS)
            command.insert(1, f"-javaagent:{agent}")
            process = ServerProcess("java-logging", command)
            process.wait_line("ready")
        started.append(process)
        return Logging(process, str(aeron_dir), path)

    yield start
    for process in started:
        process.stop()


_SAME = (
    (re.compile(r"\b(\w*(?:[iI]d|CounterId|PositionId))=-?\d+"), r"\1=#"),
    (re.compile(r"(durationNs|termId|TermId)=\d+"), r"\1=#"),
    (re.compile(r"/(?:publications|images)/\d+\.logbuffer"), "/N.logbuffer"),
    (re.compile(r"(\d+\.\d+\.\d+\.\d+:)(\d{5})"), r"\1#"),
    (re.compile(r"session-id=-?\d+"), "session-id=#"),
    # Whether an archive sees a stream's end or the end of the image first is a matter of time.
    (re.compile(r"\b(is(?:EndOfStream|Closed)=)(?:true|false)"), r"\1#"),
)


def alike(line: tuple[str, str]) -> tuple[str, str]:
    """A line without what differs from run to run: ids, ports, durations."""
    name, text = line
    for pattern, shown in _SAME:
        text = pattern.sub(shown, text)
    return name, text


@pytest.fixture
def tally() -> Callable[[list[tuple[str, str]]], Counter[tuple[str, str]]]:
    """Counts how often each line stands in a log."""
    return lambda lines: Counter(map(alike, lines))
