"""Each constant of a layout is changed once, and the comparison with the reference's bytes fails.

The bytes were written by the reference: `reference-layouts.json` by its encoders and its driver,
the archive's folder and messages by its archive. A field moves by a byte, or trades places with
another of its size; a number in a message's header is one more. A mutant that no comparison
notices is a constant without a test.
"""

from __future__ import annotations

import re
import struct
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from golden_data import GOLDEN_ARCHIVE, control_messages, layouts_of_the_reference
from reference_encoders import one_of_each

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.mark_header import MarkFileHeader as ArchiveMark
from aerolog.cluster.files import layout as cluster_layout
from aerolog.transport.logbuffer import metadata
from aerolog.transport.memory import cnc_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.protocol.fixed_layout import Field
    from aerolog.transport.protocol.sbe import Layout, Message

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec"
REFERENCE = layouts_of_the_reference()


def cluster_messages() -> dict[str, tuple[Message, bytes]]:
    """Messages of the cluster by name, and what the reference's encoders made of their values."""
    return {
        name: (message, bytes.fromhex(REFERENCE["messages"][name]))
        for name, message in one_of_each().items()
    }


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda found: "_" + found.group(1).lower(), name)


def archive_messages() -> dict[str, list[tuple[Message, bytes, int]]]:
    """Messages of the archive by name, as captured: message, bytes and schema version."""
    found: dict[str, list[tuple[Message, bytes, int]]] = {}
    for entry in control_messages():
        raw = bytes.fromhex(entry["hex"])
        header = ap.MessageHeader.read(raw)
        if header.schema_id == ap.SCHEMA_ID and header.template_id in ap.MESSAGES:
            message = ap.decode(raw)
            assert message is not None
            expected = raw[: len(raw) - entry["trailing_zero_bytes"]]
            found.setdefault(entry["name"], []).append((message, expected, header.version))
    return found


CLUSTER = cluster_messages()
ARCHIVE = archive_messages()


def offsets_in_spec(page: str, title: str) -> dict[str, int]:
    """The offsets of a table of the specification: where all captured values of two are equal."""
    section = (SPEC / page).read_text(encoding="utf-8").partition(title)[2].partition("\n#")[0]
    rows = re.findall(r"^\| (\d+) \|(?: \d+ \|)? `?([a-z]\w+)`? \|", section, re.MULTILINE)
    return {snake(name): int(offset) for offset, name in reversed(rows)}


def has_offsets(layout: Layout, offsets: dict[str, int], base: int = 0) -> bool:
    """Whether all fields of the block have the offsets of the specification."""
    fields = {field.name: field.offset + base for field in layout.fixed if field.name in offsets}
    return bool(fields) and all(offsets[name] == at for name, at in fields.items())


# -- mutants of messages ---------------------------------------------------------------------------


@contextmanager
def changed(layout: Layout, fixed: list[Any]) -> Iterator[None]:
    """A layout with other fields, for as long as the block lasts."""
    before = vars(layout).copy()
    try:
        layout.fixed = fixed
        layout._names = [field.name for field in fixed]
        layout._structs = [layout._compile(number) for number in range(len(fixed) + 1)]
        yield
    finally:
        vars(layout).update(before)


@contextmanager
def other_header(layout: Any, index: int) -> Iterator[None]:
    """A message whose header has one number more than it should, in each schema version."""
    before = layout._headers
    try:
        layout._headers = []
        for header in before:
            words = list(struct.unpack("<4H", header[:8]))
            words[index] += 1
            layout._headers.append(struct.pack("<4H", *words) + header[8:])
        yield
    finally:
        layout._headers = before


def mutants(layout: Layout) -> Iterator[tuple[str, Any]]:
    """Every mutant of a layout, with what makes it."""
    fixed = [field for field in layout.fixed if field.name != "reserved"]
    rest = layout.fixed[len(fixed) :]
    for at, field in enumerate(fixed):
        moved = [*fixed[:at], field._replace(offset=field.offset + 1), *fixed[at + 1 :], *rest]
        yield f"offset of {field.name}", changed(layout, moved)
    for at, (one, other) in enumerate(pairwise(fixed)):
        if one.kind.code == other.kind.code:
            swapped = [one._replace(name=other.name), other._replace(name=one.name)]
            yield (
                f"{one.name} in place of {other.name}",
                changed(layout, [*fixed[:at], *swapped, *fixed[at + 2 :], *rest]),
            )
    if hasattr(layout, "_headers"):
        for index, word in enumerate(("block length", "template id", "schema id", "version")):
            yield word, other_header(layout, index)


def is_same(encode: Callable[[], bytes], expected: bytes) -> bool:
    try:
        return encode() == expected
    except Exception:
        return False


def unnoticed(layout: Layout, is_right: Callable[[], bool]) -> list[str]:
    """Mutants of a layout, and of the groups in it, that leave a comparison as it is."""
    assert is_right()
    found = []
    for one in (layout, *(group.entry.LAYOUT for group in layout.groups)):
        for name, mutant in mutants(one):
            with mutant:
                if is_right():
                    found.append(f"{one.name}: {name}")
    assert is_right()
    return found


@pytest.mark.parametrize("name", CLUSTER)
def test_messages_of_the_cluster(name: str) -> None:
    message, expected = CLUSTER[name]
    assert not unnoticed(message.LAYOUT, lambda: is_same(message.encode, expected))


@pytest.mark.parametrize("name", ARCHIVE)
def test_messages_of_the_archive(name: str) -> None:
    captured = ARCHIVE[name]
    layout = captured[0][0].LAYOUT
    spec = offsets_in_spec("archive-protocol.md", f" {name}\n")

    def is_right() -> bool:
        return has_offsets(layout, spec) and all(
            is_same(lambda m=message, v=version: m.encode(v), expected)
            for message, expected, version in captured
        )

    assert not unnoticed(layout, is_right)


def test_the_head_of_an_archive_s_mark_file() -> None:
    raw = (GOLDEN_ARCHIVE / "archive-mark.dat").read_bytes()
    header = ArchiveMark.decode(raw)
    encoded = header.encode()
    assert raw.startswith(encoded)
    assert not raw[len(encoded) : header.header_length].strip(b"\0")
    spec = offsets_in_spec("archive-files.md", "\n## 13.")
    assert not unnoticed(
        ArchiveMark.LAYOUT,
        lambda: has_offsets(ArchiveMark.LAYOUT, spec, 8) and is_same(header.encode, encoded),
    )


# -- mutants of tables -----------------------------------------------------------------------------


def moved(fields: tuple[Field, ...]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """A table with one field moved by a byte, for each of its fields."""
    for at, field in enumerate(fields):
        yield field.name, (
            *fields[:at], field._replace(offset=field.offset + 1), *fields[at + 1 :]
        )  # fmt: skip


LOG = metadata.LogMetadata(
    correlation_id=struct.unpack_from("<q", bytes.fromhex(REFERENCE["log_metadata"]), 256)[0],
    session_id=78,
    stream_id=1001,
    initial_term_id=-5,
    term_id=2,
    term_offset=96,
    term_length=128 * 1024,
    mtu_length=2048,
    type=metadata.LogType.EXCLUSIVE_PUBLICATION,
    publication_window_length=16 * 1024,
    **dict(
        zip(
            (
                "socket_sndbuf_length",
                "os_default_socket_sndbuf_length",
                "os_max_socket_sndbuf_length",
                "socket_rcvbuf_length",
                "os_default_socket_rcvbuf_length",
                "os_max_socket_rcvbuf_length",
            ),
            struct.unpack_from("<6i", bytes.fromhex(REFERENCE["log_metadata"]), 292),
            strict=True,
        )
    ),
    max_resend=3,
    entity_tag=99,
    response_correlation_id=-1,
    linger_timeout_ns=3_000_000_000,
    untethered_window_limit_timeout_ns=7_000_000_000,
    untethered_resting_timeout_ns=9_000_000_000,
    untethered_linger_timeout_ns=8_000_000_000,
    sparse=True,
    spies_simulate_connection=True,
)


#: Fields that are 0 in the recorded log, where a move changes nothing, with their offsets as in
#: spec log-buffers 2.
ZERO = {
    "receiver_window_length": 288,
    "socket_sndbuf_length": 292,
    "socket_rcvbuf_length": 304,
    "group": 488,
    "is_response": 489,
    "rejoin": 490,
    "reliable": 491,
    "signal_eos": 493,
    "tether": 495,
}


def test_the_metadata_of_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    section = bytes.fromhex(REFERENCE["log_metadata"])

    def is_right() -> bool:
        zero = {f.name: f.offset for f in metadata.FIELDS if f.name in ZERO}
        return zero == ZERO and metadata.encode(LOG)[256:512] == section[256:]

    assert is_right()
    found = []
    for name, table in moved(metadata.FIELDS):
        monkeypatch.setattr(metadata, "FIELDS", table)
        if is_right():
            found.append(name)
    assert not found


def test_the_header_of_cnc_dat(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = bytes.fromhex(REFERENCE["cnc_header"])
    start_ms, pid = struct.unpack_from("<qq", recorded, 32)
    header = cnc_header.CncHeader(
        cnc_header.CncLengths.of(2097152 + 768, 4194304 + 128, 2097152, 5242880),
        12_000_000_000,
        start_ms,
        pid,
    )
    # The version is written last, when everything else is there.
    assert recorded[:4] == struct.pack("<i", cnc_header.VERSION)
    encoded = header.encode()
    assert recorded[4 : len(encoded)] == encoded[4:]
    assert len(recorded) == cnc_header.HEADER_LENGTH
    assert not recorded[len(encoded) :].strip(b"\0")
    found = []
    for code in permutations_of("6i3qi"):
        monkeypatch.setattr(cnc_header, "_HEADER", struct.Struct(code))
        if is_same(header.encode, encoded):
            found.append(code)
    assert not found


def permutations_of(code: str) -> Iterator[str]:
    """The header with a byte between two of its fields, for each of its ten fields."""
    fields = "".join(kind * int(number or 1) for number, kind in re.findall(r"(\d*)(\w)", code))
    for at in range(1, len(fields)):
        yield f"<{fields[:at]}x{fields[at:]}"


def test_numbers_of_the_cluster_s_files() -> None:
    assert cluster_layout.ENTRY.size == cluster_layout.ENDPOINT_OFFSET == 48
    assert [field.offset for field in cluster_layout.ENTRY_FIELDS] == [0, 8, 16, 24, 32, 40, 44]
