"""The counters that show the state of a persistent subscription (spec client 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.memory.counters import MAX_LABEL_LENGTH

if TYPE_CHECKING:
    from aerolog.archive.client.replay.persistent_options import PersistentSubscriptionOptions
    from aerolog.transport.client import Aeron, Counter
    from aerolog.transport.client.registration import RegistrationFuture

STATE: Final = ArchiveCounterType.SUBSCRIPTION_STATE
JOIN_DIFFERENCE: Final = ArchiveCounterType.SUBSCRIPTION_JOIN_DIFFERENCE
LIVE_LEFT_COUNT: Final = ArchiveCounterType.SUBSCRIPTION_LIVE_LEFT
LIVE_JOINED_COUNT: Final = ArchiveCounterType.SUBSCRIPTION_LIVE_JOINED
_NO_DIFFERENCE: Final = -(1 << 63)


class JoinCounters:
    """Values by type id, shown as soon as the driver has made the counters.

    Args:
        aeron: the client that owns the counters; None to make none.
        options: the options of the subscription, which the labels name.
    """

    def __init__(self, aeron: Aeron | None, options: PersistentSubscriptionOptions) -> None:
        self._values: dict[ArchiveCounterType, int] = {STATE: 0, JOIN_DIFFERENCE: _NO_DIFFERENCE}
        self._values |= {LIVE_LEFT_COUNT: 0, LIVE_JOINED_COUNT: 0}
        self._adding: dict[ArchiveCounterType, RegistrationFuture[Counter]] = {}
        self._counters: dict[ArchiveCounterType, Counter] = {}
        if aeron is None:
            return
        told = (
            f"{options.replay_stream_id} {options.replay_channel} "
            f"{options.live_stream_id} {options.live_channel}"
        )
        for type_id in self._values:
            label = f"{type_id.label}: {told}"[:MAX_LABEL_LENGTH]
            self._adding[type_id] = aeron.add_counter_async(type_id, label)

    def set(self, type_id: ArchiveCounterType, value: int) -> None:
        """Show a value."""
        self._values[type_id] = value
        if self._adding:
            self.poll()
        counter = self._counters.get(type_id)
        if counter is not None and not counter.closed:
            counter.value = value

    def increment(self, type_id: ArchiveCounterType) -> None:
        """Add one to a counter."""
        self.set(type_id, self._values[type_id] + 1)

    def poll(self) -> None:
        """Take over the counters that the driver has made by now."""
        for type_id, future in list(self._adding.items()):
            if future.done():
                del self._adding[type_id]
                self._counters[type_id] = future.result(0)
                self._counters[type_id].value = self._values[type_id]

    def close(self) -> None:
        """Close the counters."""
        for future in self._adding.values():
            if not future.cancel():
                future.result(0).close()
        for counter in self._counters.values():
            counter.close()
