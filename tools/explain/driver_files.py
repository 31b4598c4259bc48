"""What cnc.dat and the loss report hold (spec cnc-and-commands 2 to 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.explain import number_notes
from aerolog.tools.explain.error_log_section import error_section
from aerolog.tools.explain.explanation import (
    Item,
    Row,
    Section,
    joined,
    left_out,
    number,
    rows_of,
    text_row,
)
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory import broadcast, ring_buffer
from aerolog.transport.memory.cnc_header import HEADER_LENGTH, version_text
from aerolog.transport.memory.counters import (
    LABEL_LENGTH_OFFSET,
    LABEL_OFFSET,
    MAX_LABEL_LENGTH,
    METADATA_LENGTH,
    RECORD_ALLOCATED,
    RECORD_UNUSED,
    VALUE_LENGTH,
)
from aerolog.transport.memory.cycle_histograms import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER: Final = (
    Item("version", 0, "i", version_text),
    Item("to_driver_length", 4, "i"),
    Item("to_clients_length", 8, "i"),
    Item("counters_metadata_length", 12, "i", number_notes.size),
    Item("counters_values_length", 16, "i", number_notes.size),
    Item("error_log_length", 20, "i", number_notes.size),
    Item("client_liveness_timeout_ns", 24, "q", number_notes.seconds_ns),
    Item("start_timestamp", 32, "q", number_notes.time_ms),
    Item("pid", 40, "q"),
    Item("file_page_size", 48, "i"),
)
_TO_DRIVER: Final = (
    Item("tail_position", 128, "q", "bytes ever claimed by clients"),
    Item("head_cache_position", 256, "q"),
    Item("head_position", 384, "q", "bytes ever taken by the driver"),
    Item("correlation_id", 512, "q", "the next one"),
    Item(
        "consumer_heartbeat", 640, "q", lambda v: "closed" if v == -1 else number_notes.time_ms(v)
    ),
)
_TO_CLIENTS: Final = (
    Item("tail_intent", 0, "q"),
    Item("tail", 8, "q", "bytes ever sent to clients"),
    Item("latest", 16, "q", "where the last answer begins"),
)
_LOSS: Final = (
    Item("observations", 0, "q"),
    Item("total_bytes_lost", 8, "q"),
    Item("first_observation", 16, "q", number_notes.time_ms),
    Item("last_observation", 24, "q", number_notes.time_ms),
    Item("session_id", 32, "i"),
    Item("stream_id", 36, "i"),
)
_CYCLES: Final = (Item("version", 0, "i"), Item("agents", 4, "i"))
_CYCLES_HEADER_LENGTH: Final = 16
_AGENT_NAME_LENGTH: Final = 128
_LOSS_STRINGS_OFFSET: Final = 40
_LOSS_ALIGNMENT: Final = 64


def cnc(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Header, both buffers, counters, errors."""
    del name
    yield Section("Header", 0, HEADER_LENGTH, rows_of(data, 0, _HEADER))
    lengths = [number(data, at, "i") for at in range(4, 24, 4)]
    if min(lengths) < 0 or HEADER_LENGTH + sum(lengths) > len(data):
        raise FileFormatError(f"sections of {lengths} bytes do not fit in {len(data)}")
    starts = [HEADER_LENGTH + sum(lengths[:index]) for index in range(len(lengths))]
    yield _buffer(
        data,
        "Commands to the driver",
        (starts[0], lengths[0]),
        _TO_DRIVER,
        ring_buffer.TRAILER_LENGTH,
    )
    yield _buffer(
        data, "Answers to clients", (starts[1], lengths[1]), _TO_CLIENTS, broadcast.TRAILER_LENGTH
    )
    yield _counters(data, (starts[2], lengths[2]), (starts[3], lengths[3]), limit)
    yield error_section(data, starts[4], lengths[4], limit)


def _buffer(
    data: memoryview, title: str, where: tuple[int, int], items: tuple[Item, ...], trailer: int
) -> Section:
    start, length = where
    if length < trailer:
        raise FileFormatError(f"{title}: {length} bytes are less than their trailer, {trailer}")
    rows = rows_of(data, start + length - trailer, items)
    capacity = length - trailer
    return Section(title, start, length, rows, f"{capacity} bytes and {trailer} of positions")


def _counters(
    data: memoryview, metadata: tuple[int, int], values: tuple[int, int], limit: int
) -> Section:
    rows: list[Row] = []
    total = shown = 0
    for counter_id in range(min(metadata[1] // METADATA_LENGTH, values[1] // VALUE_LENGTH)):
        record = metadata[0] + counter_id * METADATA_LENGTH
        state = number(data, record, "i")
        if state == RECORD_UNUSED:
            break
        if state != RECORD_ALLOCATED:
            continue
        total += 1
        if limit and shown == limit:
            continue
        shown += 1
        value = values[0] + counter_id * VALUE_LENGTH
        length = number(data, record + LABEL_LENGTH_OFFSET, "i")
        label_at = record + LABEL_OFFSET
        label = bytes(data[label_at : label_at + max(0, min(length, MAX_LABEL_LENGTH))])
        note = (
            f"type {number(data, record + 4, 'i')}, value at {value:#x}, registration"
            f" {number(data, value + 8, 'q')}: {label.decode('ascii', 'replace')}"
        )
        rows.append(
            Row(record, METADATA_LENGTH, f"counter {counter_id}", number(data, value, "q"), note)
        )
    remark = joined(f"{total} counters", left_out(shown, total, "counters"))
    return Section("Counters", metadata[0], metadata[1] + values[1], rows, remark)


def loss(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Entries of the loss report."""
    del name
    at = total = shown = 0
    while at + _LOSS_STRINGS_OFFSET <= len(data) and number(data, at, "q") > 0:
        rows = rows_of(data, at, _LOSS)
        channel = text_row(data, at + _LOSS_STRINGS_OFFSET, "channel")
        source = text_row(data, channel.offset + ((channel.size + 3) & ~3), "source")
        end = source.offset + source.size
        size = (end - at + _LOSS_ALIGNMENT - 1) & -_LOSS_ALIGNMENT
        total += 1
        if limit == 0 or shown < limit:
            shown += 1
            yield Section(f"Loss {total}", at, size, [*rows, channel, source])
        at += size
    remark = joined(
        f"{total} streams lost something" if total else "no loss",
        left_out(shown, total, "entries"),
    )
    yield Section("Behind the entries", at, max(len(data) - at, 0), [], remark)


def cycles(data: memoryview, name: str, limit: int) -> Iterator[Section]:
    """Counts of each agent, by how long its cycles took."""
    del name, limit
    yield Section("Header", 0, _CYCLES_HEADER_LENGTH, rows_of(data, 0, _CYCLES))
    agents = number(data, 4, "i")
    length = _AGENT_NAME_LENGTH + 8 * BUCKETS
    if agents < 0 or _CYCLES_HEADER_LENGTH + agents * length > len(data):
        raise FileFormatError(f"{agents} agents of {length} bytes do not fit in {len(data)}")
    for index in range(agents):
        at = _CYCLES_HEADER_LENGTH + index * length
        label = bytes(data[at : at + _AGENT_NAME_LENGTH]).partition(b"\0")[0]
        rows = []
        for bucket in range(BUCKETS):
            where = at + _AGENT_NAME_LENGTH + 8 * bucket
            count = number(data, where, "q")
            if count:
                rows.append(Row(where, 8, f"below {2 << bucket} ns", count, "cycles"))
        title = f"Agent {label.decode('ascii', 'replace')}"
        yield Section(title, at, length, rows, "" if rows else "no cycles yet")
