"""Counters: a live mapping of all of a driver's, and those of this client (spec client 15)."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aerolog.transport.client.options import chosen_aeron_dir
from aerolog.transport.errors import ResourceClosedError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.counters import RECORD_ALLOCATED, CounterSnapshot
from aerolog.transport.memory.counters import CountersReader as SharedCounters
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from aerolog.transport.client.client_conductor import ClientConductor

CounterInfo = CounterSnapshot


class _CounterDescription:
    """What describes a counter, read anew with each access."""

    __slots__ = ()
    _counters: SharedCounters
    counter_id: int

    @property
    def label(self) -> str:
        """The label, which describes the counter to people."""
        return self._counters.counter_label(self.counter_id)

    @property
    def type_id(self) -> int:
        """The type id, which tells programs what the counter measures."""
        return self._counters.counter_type_id(self.counter_id)

    @property
    def key(self) -> bytes:
        """The key: 112 bytes whose layout depends on the type."""
        return self._counters.counter_key(self.counter_id)


class CounterView(_CounterDescription):
    """One counter of any owner; each access reads shared memory anew.

    Its id may be reused a second after it was freed; ``is_active`` says whether it is still the
    counter that was looked up, by its registration id.
    """

    __slots__ = ("_counters", "_registration_id", "counter_id")

    def __init__(self, counters: SharedCounters, counter_id: int) -> None:
        self._counters = counters
        self.counter_id = counter_id
        self._registration_id = counters.counter_registration_id(counter_id)

    @property
    def value(self) -> int:
        """The current value; of a counter that was freed the last one, until its id is reused.

        Raises:
            ResourceClosedError: the id is another counter's by now.
        """
        value = self._counters.counter_value(self.counter_id)
        # Asked after the read: a value of another counter is never given out.
        if self._counters.counter_registration_id(self.counter_id) != self._registration_id:
            raise ResourceClosedError(
                f"counter {self.counter_id} of registration {self._registration_id} was freed, and"
                " its id is another counter's now: look it up again"
            )
        return value

    @property
    def registration_id(self) -> int:
        """The registration id that the counter had when it was looked up."""
        return self._registration_id

    @property
    def owner_id(self) -> int:
        """The client id of the owner; -1 for the driver's and for static counters."""
        return self._counters.counter_owner_id(self.counter_id)

    @property
    def reference_id(self) -> int:
        """The id of the resource that the counter refers to; 0 when there is none."""
        return self._counters.counter_reference_id(self.counter_id)

    @property
    def is_active(self) -> bool:
        """Whether the counter is allocated and still the one that was looked up."""
        return self._counters.is_live(self.counter_id, self._registration_id)

    def __int__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        state = f"value={self.value}" if self.is_active else "freed"
        return f"<CounterView {self.counter_id} {self.label!r} {state}>"


class Counters(Mapping[int, CounterView]):
    """All allocated counters of a driver, by id; read-only."""

    def __init__(self, shared: SharedCounters) -> None:
        self._shared = shared

    @property
    def max_counter_id(self) -> int:
        """The largest counter id for which the buffers have room."""
        return self._shared.max_counter_id

    def __getitem__(self, counter_id: int) -> CounterView:
        in_range = isinstance(counter_id, int) and 0 <= counter_id <= self.max_counter_id
        if not in_range or self._shared.counter_state(counter_id) != RECORD_ALLOCATED:
            raise KeyError(counter_id)
        return CounterView(self._shared, counter_id)

    def __iter__(self) -> Iterator[int]:
        return (info.counter_id for info in self._shared)

    def __len__(self) -> int:
        return sum(1 for _ in self._shared)

    def infos(self) -> Iterator[CounterInfo]:
        """A copy of every counter: id, type, label, value, key and the ids, checked for reuse."""
        return iter(self._shared)

    def find(
        self,
        *,
        type_id: int | None = None,
        registration_id: int | None = None,
        label: str | None = None,
    ) -> CounterView | None:
        """Return the first counter that meets all conditions; ``label`` may be a part of one."""
        for info in self._shared:
            if type_id is not None and info.type_id != type_id:
                continue
            if registration_id is not None and info.registration_id != registration_id:
                continue
            if label is None or label in info.label:
                return CounterView(self._shared, info.counter_id)
        return None

    def to_dict(self) -> dict[str, int]:
        """Return values by label; of counters with the same label, the last one counts."""
        return {info.label: info.value for info in self._shared}

    def to_numpy(self) -> Any:
        """Ids and values of all counters, as a structured NumPy array."""
        numpy = importlib.import_module("numpy")
        rows = [(info.counter_id, info.type_id, info.value) for info in self._shared]
        return numpy.array(rows, [("id", "<i4"), ("type_id", "<i4"), ("value", "<i8")])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} counters>"


class CountersReader(Counters):
    """The counters of a driver, alive or not, without being its client.

    Args:
        dir: the driver's directory; the default one of this user when None.

    Raises:
        FileNotFoundError: there is no driver directory.
        FileFormatError: its cnc.dat is damaged or of another version.
    """

    def __init__(self, dir: str | os.PathLike[str] | None = None) -> None:  # noqa: A002 - the property's name
        self.cnc = CncFile.open(RealFileSystem(), chosen_aeron_dir(dir))
        super().__init__(self.cnc.counters)


class Counter(_CounterDescription, Resource):
    """A counter that this client may write; ``Aeron`` makes it. Any thread may use it.

    Attributes:
        counter_id: the id by which the driver's counters are found.
        registration_id: the id of the command that added it; for a static counter the id that it
            was added with.
        is_static: whether it outlives the client, so that other clients may share it.
    """

    def __init__(
        self,
        conductor: ClientConductor,
        counter_id: int,
        registration_id: int,
        is_static: bool,
    ) -> None:
        self.counter_id = counter_id
        self.registration_id = registration_id
        self.is_static = is_static
        self.closed = False
        self._conductor = conductor
        self._client = conductor.client()
        self._counters = conductor.counters

    def _require_open(self) -> None:
        if self.closed:
            raise ResourceClosedError(f"{self!r} is closed") from self._conductor.close_reason
        if self._conductor.forked:
            self._conductor.ensure_usable()
        if not self._counters.is_live(self.counter_id, self.registration_id):
            raise ResourceClosedError(
                f"the driver has taken {self!r} back, as it does with the counters of a client that"
                " was silent for longer than the client liveness timeout: connect a new client"
            ) from self._conductor.close_reason

    @property
    def value(self) -> int:
        """The current value; assign to it to change the counter.

        Raises:
            ResourceClosedError: the driver took the counter back, and its id is another's by now.
        """
        value = self._counters.counter_value(self.counter_id)
        if self._counters.counter_registration_id(self.counter_id) != self.registration_id:
            raise ResourceClosedError(
                f"{self!r} is no more: its id is another counter's now"
            ) from self._conductor.close_reason
        return value

    @value.setter
    def value(self, value: int) -> None:
        self._require_open()
        self._counters.set_value(self.counter_id, value)

    def add(self, delta: int) -> int:
        """Add atomically with respect to all threads and processes; return the previous value."""
        self._require_open()
        return self._counters.get_and_add(self.counter_id, delta)

    def propose_max(self, value: int) -> bool:
        """Raise the counter to a value; return False when it is already as high."""
        self._require_open()
        return self._counters.propose_max(self.counter_id, value)

    def compare_and_set(self, expected: int, value: int) -> bool:
        """Set the value if it equals the expected one; return whether it did."""
        self._require_open()
        return self._counters.compare_and_set(self.counter_id, expected, value)

    def force_close(self) -> None:
        """Close without telling the driver; called by the conductor."""
        self.closed = True

    def close(self) -> None:
        """Free the counter; a static counter stays allocated. A second call does nothing."""
        self._conductor.close_counter(self)

    def __del__(self) -> None:
        if self.__dict__.get("closed", True):
            return
        self.closed = True
        if not self.is_static:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)
            self._conductor.counter_dropped(self.registration_id)

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<Counter {self.counter_id} registration_id={self.registration_id}{state}>"
