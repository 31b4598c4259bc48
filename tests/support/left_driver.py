"""What a driver has in its directory, live or stopped, as lines of text fit to be compared.

As in `left_files`, nothing here uses the product's tables of layouts. Offsets are those of
spec cnc-and-commands 2, spec cnc-and-commands 5, spec cnc-and-commands 6,
spec cnc-and-commands 7 and spec log-buffers 2.
"""

from __future__ import annotations

import struct
from collections import Counter
from os import SEEK_END
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from left_files import Run

CNC_HEADER: Final = 128
START_AND_PID: Final = slice(32, 48)
METADATA_LENGTH, VALUE_LENGTH = 512, 128
LABEL_AT, KEY_AT, KEY_END = 128, 16, 128
LOG_METADATA: Final = 4096
LOSS_ALIGNMENT: Final = 64
SYSTEM, PUBLISHER_LIMIT, SENDER_LIMIT, CUBIC, HEARTBEAT, SENDER_BPE = (
    CounterType.SYSTEM,
    CounterType.PUBLISHER_LIMIT,
    CounterType.SENDER_LIMIT,
    CounterType.PER_IMAGE,
    CounterType.CLIENT_HEARTBEAT,
    CounterType.SENDER_BPE,
)
NAKS_SENT, NAKS_RECEIVED = CounterType.RECEIVER_NAKS_SENT, CounterType.SENDER_NAKS_RECEIVED
#: Files that only ours has (docs/compatibility).
ONLY_OURS: Final = frozenset(("aerolog-cycles.dat",))
#: Values that depend on the time that passes, by type, and of the system counters by id.
TIMED_TYPES: Final = {
    HEARTBEAT: "a time",
    SENDER_BPE: "how often the sender found no room",
    CUBIC: "what was measured",
    PUBLISHER_LIMIT: "it moves in steps that begin wherever the conductor has looked",
    SENDER_LIMIT: "it moves in steps that begin wherever the receiver has looked",
    NAKS_SENT: "a NAK is sent again until it is answered",
    NAKS_RECEIVED: "a NAK is sent again until it is answered",
}
TIMED_SYSTEM: Final = {
    0: "heartbeats are among the bytes sent",
    1: "heartbeats and setups are among the bytes received",
    2: "how often a queue was full",
    3: "how often a queue was full",
    4: "how often a queue was full",
    5: "a NAK is sent again until it is answered",
    6: "a NAK is sent again until it is answered",
    7: "sent again after a time",
    8: "sent again after a time",
    9: "sent again after a time",
    10: "sent again after a time",
    18: "how often the sender found no room",
    26: "a duration",
    27: "how many cycles took long",
    28: "a duration",
    29: "how many cycles took long",
    30: "a duration",
    31: "how many cycles took long",
    32: "a duration",
    33: "how many look-ups took long",
    38: "sent again after a time",
    39: "sent again after a time",
    45: "how often a queue was full",
}


class CounterLine(NamedTuple):
    """A counter record that is or was in use.

    Attributes:
        counter_id: of the record.
        shown: all of its fields, masked.
        is_timed: whether its value depends on the time.
    """

    counter_id: int
    shown: str
    is_timed: bool


class DriverDirectory:
    """A driver's directory, or a copy of its files.

    Args:
        folder: the directory.
        run: with what is this run's own.
    """

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder = folder
        self.run = run
        self._shown: dict[str, str] = {}

    def left(self) -> dict[str, list[str]]:
        """Everything that is compared, by subject."""
        cnc = (self.folder / "cnc.dat").read_bytes()
        return {
            "header": [self._header(cnc)],
            "counters": [line.shown for line in self._counters(cnc)],
            "errors": self._errors(cnc),
            "losses": list(self._losses((self.folder / "loss-report.dat").read_bytes())),
            "files": sorted(self._files()),
        }

    def timed_counters(self) -> set[int]:
        """Ids of the counters whose values are masked."""
        cnc = (self.folder / "cnc.dat").read_bytes()
        return {line.counter_id for line in self._counters(cnc) if line.is_timed}

    def _header(self, cnc: bytes) -> str:
        start_ms, pid = struct.unpack("<qq", cnc[START_AND_PID])
        shown = [f"start {self.run.is_time(start_ms)}", f"pid {pid in self.run.pids}"]
        return " ".join([cnc[:32].hex(), *shown, cnc[48:CNC_HEADER].hex(), f"{len(cnc)} bytes"])

    @staticmethod
    def _section(cnc: bytes, index: int) -> bytes:
        lengths = struct.unpack_from("<5i", cnc, 4)
        begin = CNC_HEADER + sum(lengths[:index])
        return cnc[begin : begin + lengths[index]]

    def _counters(self, cnc: bytes) -> Iterator[CounterLine]:
        metadata, values = self._section(cnc, 2), self._section(cnc, 3)
        for counter_id in range(len(values) // VALUE_LENGTH):
            record = metadata[counter_id * METADATA_LENGTH :][:METADATA_LENGTH]
            state, type_id = struct.unpack_from("<ii", record)
            if state == 0:
                break
            label_length = struct.unpack_from("<i", record, LABEL_AT)[0]
            label = record[LABEL_AT + 4 : LABEL_AT + 4 + label_length].decode("latin-1")
            if type_id == HEARTBEAT:  # the rest is the client's own, written at one of its beats
                label = label.partition(" name=")[0]
            key = self._text(record[KEY_AT:KEY_END].rstrip(b"\0").decode("latin-1"))
            value, *ids = struct.unpack_from("<4q", values, counter_id * VALUE_LENGTH)
            is_timed = type_id in TIMED_TYPES or (type_id == SYSTEM and counter_id in TIMED_SYSTEM)
            said = "timed" if is_timed else value
            yield CounterLine(
                counter_id,
                f"{counter_id} state={state} type={type_id} key={key!r} "
                f"label={self._text(label)} value={said} "
                f"registration={ids[0]} owner={ids[1]} reference={ids[2]}",
                is_timed,
            )

    def _text(self, said: str) -> str:
        """A text masked; each is looked at many times."""
        if said not in self._shown:
            self._shown[said] = self.run.text(said)
        return self._shown[said]

    def _errors(self, cnc: bytes) -> list[str]:
        """First lines, each with how often: by frames, which are its own, either has some twice."""
        found: Counter[str] = Counter()
        for count, said in self.run.errors(self._section(cnc, 4)):
            found[said] += count
        return sorted(f"{count} {said}" for said, count in found.items())

    def _losses(self, report: bytes) -> Iterator[str]:
        at = 0
        while at < len(report) and (count := struct.unpack_from("<q", report, at)[0]) > 0:
            lost, first, last = struct.unpack_from("<3q", report, at + 8)
            session_id, stream_id, length = struct.unpack_from("<3i", report, at + 32)
            channel = report[at + 44 : at + 44 + length].decode("ascii")
            source_at = at + 40 + (4 + length + 3) // 4 * 4
            (length,) = struct.unpack_from("<i", report, source_at)
            source = report[source_at + 4 : source_at + 4 + length].decode("ascii")
            are_times = self.run.is_time(first) and first <= last and self.run.is_time(last)
            yield self.run.text(
                f"{count} times {lost} bytes, times {are_times}, session {session_id}, "
                f"stream {stream_id}, {channel} from {source}"
            )
            at += (source_at + 4 + length - at + LOSS_ALIGNMENT - 1) & -LOSS_ALIGNMENT

    def _files(self) -> Iterator[str]:
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if str(name) in ONLY_OURS:
                continue
            if not path.is_file():
                yield f"{name}/"
            elif path.suffix == ".logbuffer":
                yield f"{name} {self._log(path)}"
            else:
                yield f"{name} {path.stat().st_size} bytes"

    @staticmethod
    def _log(path: Path) -> str:
        with path.open("rb") as log:
            length = log.seek(-LOG_METADATA, SEEK_END) + LOG_METADATA
            return f"{length} bytes, metadata {log.read().rstrip(bytes(1)).hex()}"
