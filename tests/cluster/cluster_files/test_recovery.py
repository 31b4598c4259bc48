"""What a node recovers from: the reference and we find the same in the same recording logs."""

from __future__ import annotations

import random
import shutil
from functools import partial
from typing import TYPE_CHECKING

import peer
import pytest
from live_archive import archiving
from node_steps import STEPS, with_ours
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.cluster.files import EntryType, LogEntry, RecordingLog, plan_recovery
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.reference.cluster_tool.cluster_texts import plan_line, snapshot_line
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ConfigurationError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

LOG_ID = 1  # recording 0 is a snapshot's
SEEDS = range(200)
COHERENT = (
    "0 0 1 640 -1",
    "0 0 9 99000 -1",
    "0 0 9 99000 99900",
    "2 320 4 88000 88800",
    "0 0 0 0 640",
    "0 0 9 -1 -1",
    "-1 0 3 77000 -1",
)


class Asked:
    """An archive with a log, and what the reference and we find there."""

    def __init__(self, aeron_dir: str, archive: AeronArchive) -> None:
        self.aeron_dir = aeron_dir
        self.archive = archive
        self.known: dict[int, RecordingDescriptor | None] = {}

    def describe(self, recording_id: int) -> RecordingDescriptor | None:
        if recording_id not in self.known:
            self.known[recording_id] = self.archive.list_recording(recording_id)
        return self.known[recording_id]

    def reference(self, folders: list[Path], questions: list[str]) -> list[dict[str, str]]:
        """The reference's answers, for each folder by question."""
        asked = "".join(f"open {each}\n" + "\n".join(questions) + "\n" for each in folders)
        lines = iter(peer.java_tool("ClusterPlans", self.aeron_dir, stdin=asked).splitlines())
        found = []
        for _ in folders:
            assert next(lines) == "opened"
            found.append({question: next(lines) for question in questions})
        return found


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("archive")
    for start in (0, 320):
        log = RecordingBuilder(start_position=start)
        log.add(b"x" * 5000)
        log.write(folder)
    with (
        memory_folder() as home,
        archiving(home / "aeron", folder) as running,
        Aeron(running.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        yield Asked(str(running.aeron_dir), archive)


def random_steps(rng: random.Random) -> str:
    """A life of a node: terms, snapshots of one to three services, some of them cut off."""
    services = rng.randrange(3)
    lines = []
    term_id = position = 0
    base = 0
    recording_id = 10
    lines.append(f"term {LOG_ID} 0 0 1000")
    for _ in range(rng.randrange(12)):
        step = rng.random()
        position += rng.randrange(1, 50) * 32
        if step < 0.25:
            lines.append(f"commit {term_id} {position}")
            term_id += rng.choice((1, 1, 1, 2))
            base = position
            lines.append(f"term {LOG_ID} {term_id} {base} {1000 + position}")
        elif step < 0.4:
            lines.append("invalidate")
        else:
            kind, where = "snapshot", ""
            if rng.random() < 0.3:
                kind, where = "standby", f" {rng.choice('ab')}:1"
            missing = rng.choice((None, None, None, None, rng.randrange(-1, services + 1)))
            for service_id in range(services, -2, -1):
                if service_id != missing and service_id < services:
                    recording_id += 1
                    lines.append(
                        f"{kind} {recording_id} {term_id} {base} {position} {position}"
                        f" {service_id}{where}"
                    )
    return "".join(f"{line}\n" for line in lines)


def lives() -> dict[str, str]:
    scripted = {name: steps.replace("term 7", f"term {LOG_ID}") for name, steps in STEPS.items()}
    return scripted | {f"random {seed}": random_steps(random.Random(seed)) for seed in SEEDS}


def folders_of(root: Path) -> dict[str, Path]:
    found = {}
    for number, (name, steps) in enumerate(lives().items()):
        found[name] = root / str(number)
        found[name].mkdir()
        with_ours(found[name], steps)
    return found


def is_snapshot(entry: LogEntry, kind: EntryType = EntryType.SNAPSHOT) -> bool:
    return entry.is_valid and entry.type == kind


def modules(log: RecordingLog) -> list[LogEntry]:
    return [entry for entry in log.entries if is_snapshot(entry) and entry.service_id == -1]


def is_whole(log: RecordingLog, module: LogEntry, services: int) -> bool:
    """Whether services 0 and up have valid entries right before the module's."""
    before = log.entries[: log.entries.index(module)][::-1][:services]
    return [(entry.service_id, entry.place) for entry in before if is_snapshot(entry)] == [
        (service_id, module.place) for service_id in range(services)
    ]


def test_plans_are_those_of_the_reference(asked: Asked, tmp_path: Path) -> None:
    """The reference fails, or takes invalid entries, where its newest snapshot is not whole."""
    folders = folders_of(tmp_path)
    counts = range(4)
    questions = [f"plan {count} {extra}" for count in counts for extra in (-1, LOG_ID)]
    compared = others = 0
    theirs = asked.reference(list(folders.values()), questions)
    for folder, answers in zip(folders.values(), theirs, strict=True):
        with RecordingLog(folder) as log:
            newest = modules(log)[-1:]
            for question, answer in answers.items():
                _, count, extra = question.split()
                plan = plan_recovery(log, asked.describe, int(count), int(extra))
                if all(is_whole(log, module, int(count)) for module in newest):
                    assert plan_line(plan) == answer, (folder, question)
                    compared += 1
                    continue
                others += 1
                if plan.snapshots:
                    assert is_whole(log, plan.snapshots[0], int(count))
                    assert plan.snapshots[0].log_position <= newest[0].log_position
    assert compared > others > 0


def test_terms_and_snapshots_are_found_alike(asked: Asked, tmp_path: Path) -> None:
    folders = folders_of(tmp_path)
    befores = [(position, count) for position in (0, 800, 4000, 9000) for count in (0, 1, 2)]
    questions = [
        *(f"term {term_id}" for term_id in range(-1, 6)),
        *(f"before {position} {count}" for position, count in befores),
        *(f"standby {count}" for count in range(3)),
        "latest -1",
    ]
    answers = asked.reference(list(folders.values()), questions)
    compared = 0
    for folder, theirs in zip(folders.values(), answers, strict=True):
        with RecordingLog(folder) as log:
            ours = {f"term {term_id}": term_text(log, term_id) for term_id in range(-1, 6)}
            ours["latest -1"] = short(next(iter(log.latest_snapshot()), None))
            for position, count in befores:
                if modules(log) and all(is_whole(log, each, count) for each in modules(log)):
                    found = log.snapshot_at_or_before(position, count)
                    ours[f"before {position} {count}"] = (
                        f"[{', '.join(map(snapshot_line, reversed(found)))}]"
                    )
            standby = [e for e in log.entries if is_snapshot(e, EntryType.STANDBY_SNAPSHOT)]
            # The reference takes any entries for a snapshot if their number is right.
            for count in range(3) if all(e.service_id != 2 for e in standby) else ():
                found = log.standby_snapshots(count)
                if is_standby_whole(standby, count):
                    ours[f"standby {count}"] = "".join(
                        f"{where} {''.join(f'{short(e)} ' for e in found[where])}"
                        for where in sorted(found)
                    )
        for question, answer in ours.items():
            assert answer == theirs[question], (folder, question)
        compared += len(ours)
    assert compared > 15 * len(folders)


def is_standby_whole(standby: list[LogEntry], count: int) -> bool:
    places: dict[object, list[int]] = {}
    for entry in standby:
        places.setdefault((entry.archive_endpoint, entry.log_position), []).append(entry.service_id)
    return all(
        sorted(ids) == list(range(-1, count)) for ids in places.values() if len(ids) == count + 1
    )


def short(entry: LogEntry | None) -> str:
    return f"{entry.index}:{entry.recording_id}:{entry.service_id}" if entry else "null"


def term_text(log: RecordingLog, term_id: int) -> str:
    entry, last = log.term(term_id), log.last_term
    last_id = last.recording_id if last else -1
    return f"{short(entry)} {short(last)} {last_id} {str(entry is None).lower()}"


def test_missed_terms_are_added_alike(asked: Asked, tmp_path: Path) -> None:
    for number, values in enumerate(COHERENT):
        ours, theirs = tmp_path / f"ours {number}", tmp_path / f"theirs-{number}"
        ours.mkdir()
        folders = folders_of(ours)
        shutil.copytree(ours, theirs)
        initial, initial_base, term_id, base, end = map(int, values.split())
        copies = [theirs / folder.name for folder in folders.values()]
        answers = asked.reference(copies, [f"coherent {LOG_ID} {values} 0 5555"])
        for folder, copy, answer in zip(folders.values(), copies, answers, strict=True):
            said = next(iter(answer.values()))
            with RecordingLog(folder) as log:
                term = LogEntry(
                    recording_id=LOG_ID,
                    leadership_term_id=term_id,
                    term_base_log_position=base,
                    log_position=end,
                    timestamp=5555,
                    type=EntryType.TERM,
                )

                add = partial(
                    log.ensure_coherent, term, initial_term_id=initial, initial_base=initial_base
                )
                said_by(add, said)
            assert said_bytes(folder) == said_bytes(copy), (folder, values, said)


def said_by(add: Callable[[], None], said: str) -> None:
    if said == "null":
        add()
    else:
        with pytest.raises(ConfigurationError):
            add()


def said_bytes(folder: Path) -> bytes:
    return (folder / "recording.log").read_bytes()


def test_a_log_that_the_archive_does_not_have_is_named(asked: Asked, tmp_path: Path) -> None:
    with_ours(tmp_path, "term 7 0 0 1000\n")
    (said,) = asked.reference([tmp_path], ["plan 0 -1"])
    assert said["plan 0 -1"] == "ClusterException: ERROR - unknown recording id: 7"
    with (
        RecordingLog(tmp_path) as log,
        pytest.raises(FileFormatError, match=r"unknown recording id: 7: .*recording\.log names it"),
    ):
        plan_recovery(log, asked.describe, 0)
