"""Properties of event logging, from the reference's agent and the C driver."""

from __future__ import annotations

from typing import Final

from aerolog.transport.config.definition import Declare

_add: Final = Declare()

EVENT_LOG = _add.text(
    "aeron.event.log",
    None,
    "events that a driver logs: names or numbers between commas, admin for all but frames, or all",
)
EVENT_LOG_DISABLE = _add.text(
    "aeron.event.log.disable", None, "events of a driver to leave out, in the same form"
)
_DRIVER: Final = _add.table

_add_archive: Final = Declare()

EVENT_ARCHIVE_LOG = _add_archive.text(
    "aeron.event.archive.log",
    None,
    "events that an archive logs: names or numbers between commas, or all",
)
EVENT_ARCHIVE_LOG_DISABLE = _add_archive.text(
    "aeron.event.archive.log.disable",
    None,
    "events of an archive to leave out, in the same form",
)
_ARCHIVE: Final = _add_archive.table

_add_cluster: Final = Declare()

EVENT_CLUSTER_LOG = _add_cluster.text(
    "aeron.event.cluster.log",
    None,
    "events that a consensus module logs: names or numbers between commas, or all",
)
EVENT_CLUSTER_LOG_DISABLE = _add_cluster.text(
    "aeron.event.cluster.log.disable",
    None,
    "events of a consensus module to leave out, in the same form",
)
_CLUSTER: Final = _add_cluster.table

_add_both: Final = Declare()

EVENT_LOG_FILENAME = _add_both.text(
    "aeron.event.log.filename", None, "file that event lines are appended to; stdout without one"
)
EVENT_BUFFER_LENGTH = _add_both.size(
    "aeron.event.buffer.length",
    8 * 1024 * 1024,
    "ring of events that wait to be written: a power of two from 64 KiB to 1 GiB",
    low=64 * 1024,
    high=1 << 30,
)
_BOTH: Final = _add_both.table

#: The properties that a driver, an archive and a consensus module read.
DRIVER_EVENT_PROPERTIES: Final = (*_DRIVER, *_BOTH)
ARCHIVE_EVENT_PROPERTIES: Final = (*_ARCHIVE, *_BOTH)
CLUSTER_EVENT_PROPERTIES: Final = (*_CLUSTER, *_BOTH)
