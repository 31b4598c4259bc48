"""A driver that the test turns by hand, at the time the test says, and a client that sees all."""

from dataclasses import dataclass
from random import Random

import pytest
from driver_bench import MS, RawBench, bench, start

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import MediaDriver
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

__all__ = ["bench", "start"]  # fixtures

S = 1_000_000_000

OPTIONS = {
    "threading_mode": "INVOKER",
    "counters_buffer_length": "1m",
    "ipc_term_buffer_length": "64k",
    "driver_async_executor_enabled": False,
}


@dataclass(kw_only=True)
class Bench(RawBench):
    """A driver without a network."""

    STEP_NS = 100 * MS

    @classmethod
    def start(cls, directory: str, **options: object) -> "Bench":
        clock = options.pop("clock", None) or ManualClock()
        files = options.pop("file_system", None) or FakeFileSystem()
        driver = MediaDriver(
            directory,
            clock=clock,
            file_system=files,
            random_source=Random(7),
            **{**OPTIONS, **options},
        )
        return cls(driver=driver, clock=clock, files=files)

    def counters(self, type_id: int) -> list[int]:
        return [k.counter_id for k in self.cnc.counters if k.type_id == type_id]

    def publication(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddPublication(i, n, stream_id, channel), **options)

    def exclusive(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel), **options)

    def subscription(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.SubscriptionReady:
        return self.add(lambda i, n: c.AddSubscription(i, n, stream_id, channel), **options)

    def remove_publication(self, registration_id: int, flags: int = 0) -> list[r.Response]:
        return self.do(lambda i, n: c.RemovePublication(i, n, registration_id, flags))

    def position_counter(self, subscription: r.SubscriptionReady) -> int:
        """The (first) position counter of a subscription."""
        return self.cnc.counters.find_by_registration_id(
            subscription.correlation_id, CounterType.SUBSCRIBER_POSITION
        )

    def log(self, ready: r.PublicationReady) -> LogBuffers:
        return LogBuffers.open(self.files.open_mapped(ready.log_file))

    def writer(self, ready: r.PublicationReady) -> DirectPublication:
        return DirectPublication(
            self.log(ready),
            self.cnc.mapped,
            self._values_offset + 128 * ready.limit_counter_id,
            exclusive=isinstance(ready, r.ExclusivePublicationReady),
        )

    def reader(
        self, ready: r.PublicationReady, subscription: r.SubscriptionReady
    ) -> DirectSubscription:
        offset = self._values_offset + 128 * self.position_counter(subscription)
        return DirectSubscription(self.log(ready), self.cnc.mapped, offset)

    @property
    def _values_offset(self) -> int:
        lengths = self.cnc.header.lengths
        return 128 + lengths.to_driver + lengths.to_clients + lengths.counter_metadata


@pytest.fixture
def bench_class() -> type[Bench]:
    return Bench
