"""A log in anonymous memory, with the counters that a driver would keep for it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 0
POSITION = 64


@dataclass
class World:
    """One log, its limit and one subscriber position."""

    logs: LogBuffers
    counters: MappedFile

    def publication(self, *, exclusive: bool) -> DirectPublication:
        return DirectPublication(self.logs, self.counters, LIMIT, exclusive=exclusive)

    def subscription(self) -> DirectSubscription:
        return DirectSubscription(self.logs, self.counters, POSITION)

    @property
    def limit(self) -> int:
        return self.counters.load_i64(LIMIT)

    @limit.setter
    def limit(self, position: int) -> None:
        self.counters.store_i64(LIMIT, position)

    @property
    def position(self) -> int:
        return self.counters.load_i64(POSITION)

    @position.setter
    def position(self, position: int) -> None:
        self.counters.store_i64(POSITION, position)

    def frame(self, position: int) -> tuple[int, ...]:
        """Header at a position: length, version, flags, type, offset, session, stream, term id,
        reserved value.
        """
        term_length = self.logs.term_length
        index = (position // term_length) % 3
        return struct.unpack_from(
            "<iBBHiiiiq", self.logs.file, index * term_length + position % term_length
        )

    def write(self, position: int, data: bytes) -> None:
        """What a hostile or half-done writer leaves at a position."""
        term_length = self.logs.term_length
        start = (position // term_length) % 3 * term_length + position % term_length
        self.logs.file.view(start, len(data))[:] = data


def make_world(**changes: Any) -> World:
    values: dict[str, Any] = {
        "correlation_id": 7,
        "session_id": -1364374152,
        "stream_id": 1001,
        "initial_term_id": 801263729,
        "term_length": 65536,
        "mtu_length": 1408,
        "type": LogType.PUBLICATION,
        **changes,
    }
    metadata = LogMetadata(**values)
    file = MappedFile.anonymous(log_file_length(metadata.term_length, metadata.page_size))
    world = World(LogBuffers.create(file, metadata), MappedFile.anonymous(4096))
    world.logs.is_connected = True
    world.limit = 1 << 62
    world.position = world.logs.producer_position
    return world


@pytest.fixture
def new_world() -> Callable[..., World]:
    return make_world


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture(params=[True, False], ids=["exclusive", "concurrent"])
def exclusive(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
