"""What kind of file it is: by its name, else by what it begins or ends with."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import (
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    MARK_FILE_NAME,
    MARK_LINK_NAME,
    VERSION_MAJOR,
)
from aerolog.archive.format.segment import TERM_LENGTH_MIN, is_power_of_two
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.archive.retention.retention_folder import (
    HOLDS_NAME,
    JOURNAL_NAME,
    LOCK_NAME,
    RESERVE_NAME,
    STEP_LOCK_NAME,
)
from aerolog.archive.time_index.layout import INDEX_SUFFIX
from aerolog.archive.time_index.layout import MAGIC as TIMES_MAGIC
from aerolog.archive.verification.layout import HEALTH_SUFFIX
from aerolog.archive.verification.layout import MAGIC as HEALTH_MAGIC
from aerolog.cluster.files.folder_sums import SUMS_PREFIX
from aerolog.cluster.files.layout import CLUSTER_MARK_NAME, NODE_STATE_NAME, RECORDING_LOG_NAME
from aerolog.cluster.protocol.mark_header import MarkFileHeader as ClusterMarkFileHeader
from aerolog.tools.archive_files.segment_names import is_term_length
from aerolog.tools.explain.explanation import number
from aerolog.transport.logbuffer.metadata import LENGTH as LOG_METADATA_LENGTH
from aerolog.transport.memory.cnc_header import FILE_NAME as CNC_NAME
from aerolog.transport.memory.cnc_header import HEADER_LENGTH as CNC_HEADER_LENGTH
from aerolog.transport.memory.cycle_histograms import FILE_NAME as CYCLES_NAME
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH

if TYPE_CHECKING:
    from aerolog.transport.protocol.sbe import Message

CNC: Final = "cnc"
LOG: Final = "log"
LOSS: Final = "loss report"
CYCLES: Final = "duty cycles"
CATALOG: Final = "catalog"
MARK: Final = "mark file"
LINK: Final = "mark link"
SEGMENT: Final = "segment"
REDO: Final = "catalog change"
MIGRATION: Final = "migration stamp"
ERRORS: Final = "saved errors"
TIMES: Final = "time index"
HEALTH: Final = "health"
RETENTION: Final = "retention"
RESERVE: Final = "reserve"
CLUSTER_MARK: Final = "cluster mark file"
CLUSTER_LINK: Final = "cluster mark link"
RECORDING_LOG: Final = "recording log"
NODE_STATE: Final = "node state"
SUMS: Final = "cluster checksums"

MEANINGS: Final = {
    CNC: "A media driver's command and control file: commands, answers, counters, errors.",
    LOG: "The log of a publication or an image: three terms of frames and their metadata.",
    LOSS: "A media driver's loss report: which streams lost how much, and when.",
    CYCLES: "How long the duty cycles of a driver's agents took; only drivers of ours write it.",
    CATALOG: "An archive's catalog: a descriptor of each recording.",
    MARK: "An archive's mark file: who owns the folder, its sign of life, its errors.",
    LINK: "Names the folder of an archive's mark file.",
    SEGMENT: "A segment of a recording: the frames of its stream as they were sent.",
    REDO: "A change of a catalog, noted before it is made; the archive's next start makes it.",
    MIGRATION: "An archive's folder was migrated; the file is a stamp and empty.",
    ERRORS: "Errors that an earlier archive or driver left, saved when the next one started.",
    TIMES: "A time index: when a recording came to which position; only archives of ours keep it.",
    HEALTH: "What verification knows of a recording's closed segments, with their fingerprints.",
    RETENTION: "A file of retention: what is held, what went and why, or a lock, which is empty.",
    RESERVE: "Room that retention takes for its own files when the disk is full.",
    CLUSTER_MARK: "A cluster node's mark file: who owns the folder, its sign of life, its errors.",
    CLUSTER_LINK: "Names the folder of a mark file of a cluster's node.",
    RECORDING_LOG: "A node's recording log: which recordings are its log and its snapshots.",
    NODE_STATE: "A node's state: the highest term in which it stood or voted.",
    SUMS: "Checksums of a node's recording log and snapshots; only nodes of ours keep them.",
}

RETENTION_NAMES: Final = (HOLDS_NAME, JOURNAL_NAME, LOCK_NAME, STEP_LOCK_NAME)

_NAMES: Final = (
    (re.compile(re.escape(CNC_NAME)), CNC),
    (re.compile(r"loss-report\.dat"), LOSS),
    (re.compile(re.escape(CYCLES_NAME)), CYCLES),
    (re.compile(r".*\.logbuffer"), LOG),
    (re.compile(re.escape(CATALOG_NAME) + r"(\.compact)?"), CATALOG),
    (re.compile(re.escape(CATALOG_NAME) + r"\.redo"), REDO),
    (re.compile(re.escape(MARK_FILE_NAME)), MARK),
    (re.compile(re.escape(MARK_LINK_NAME)), LINK),
    (re.compile(r"-?\d+-\d+\.rec(\.del)?"), SEGMENT),
    (re.compile(r"migration-\d+-to-\d+\.dat"), MIGRATION),
    (re.compile(r".*-error\.log"), ERRORS),
    (re.compile(rf"\d+{re.escape(INDEX_SUFFIX)}"), TIMES),
    (re.compile(rf"\d+{re.escape(HEALTH_SUFFIX)}"), HEALTH),
    (re.compile(re.escape(CLUSTER_MARK_NAME) + r"|cluster-mark-service-\d+\.dat"), CLUSTER_MARK),
    (re.compile(r"cluster-mark(-service-\d+)?\.lnk"), CLUSTER_LINK),
    (re.compile(re.escape(RECORDING_LOG_NAME) + r"(\.bak|\.tmp)?"), RECORDING_LOG),
    (re.compile(re.escape(NODE_STATE_NAME)), NODE_STATE),
    (re.compile(re.escape(SUMS_PREFIX) + r".+\.json"), SUMS),
    (re.compile(re.escape(RESERVE_NAME)), RESERVE),
    *((re.compile(re.escape(name)), RETENTION) for name in RETENTION_NAMES),
)


def kind_of(name: str, data: memoryview) -> str | None:
    """The kind of a file, None when it is none of the system's.

    Args:
        name: the name of the file, without its folder.
        data: all of it.
    """
    for pattern, kind in _NAMES:
        if pattern.fullmatch(name):
            return kind
    tests = (
        (partial(_begins_with, MarkFileHeader), MARK),
        (partial(_begins_with, ClusterMarkFileHeader), CLUSTER_MARK),
        (_is_time_index, TIMES),
        (_is_health, HEALTH),
        (_is_log, LOG),
        (_is_cnc, CNC),
        (_is_catalog, CATALOG),
        (_is_segment, SEGMENT),
    )
    return next((kind for test, kind in tests if test(data)), None)


def _begins_with(header: type[Message], data: memoryview) -> bool:
    layout = header.LAYOUT
    return len(data) >= 8 and (number(data, 2, "H"), number(data, 4, "H")) == (
        layout.template_id,
        layout.schema.id,
    )


def _is_time_index(data: memoryview) -> bool:
    return len(data) >= 8 and number(data, 0, "q") == TIMES_MAGIC


def _is_health(data: memoryview) -> bool:
    return len(data) >= 8 and number(data, 0, "Q") == HEALTH_MAGIC


def _is_log(data: memoryview) -> bool:
    start = len(data) - LOG_METADATA_LENGTH
    if start < 0:
        return False
    term_length = number(data, start + 276, "i")
    return (
        is_term_length(term_length)
        and number(data, start + 268, "i") == DATA_HEADER_LENGTH
        and start >= 3 * term_length
    )


def _is_cnc(data: memoryview) -> bool:
    if len(data) < CNC_HEADER_LENGTH:
        return False
    version, *lengths = (number(data, at, "i") for at in range(0, 24, 4))
    total = CNC_HEADER_LENGTH + sum(lengths)
    return 0 < version < 1 << 16 and min(lengths) > 0 and total <= len(data)


def _is_catalog(data: memoryview) -> bool:
    return (
        len(data) >= CATALOG_HEADER_LENGTH
        and 0 < number(data, 0, "i") >> 16 <= VERSION_MAJOR
        and number(data, 4, "i") == CATALOG_HEADER_LENGTH
        and number(data, 8, "q") >= 0
    )


def _is_segment(data: memoryview) -> bool:
    if len(data) < TERM_LENGTH_MIN or not is_power_of_two(len(data)):
        return False
    length, kind, offset = number(data, 0, "i"), number(data, 6, "H"), number(data, 8, "i")
    return length >= DATA_HEADER_LENGTH and kind in (0, 1) and offset == 0 and data[4] == 0
