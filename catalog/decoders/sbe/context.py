"""A batch of messages while it is decoded: bytes, ends of messages, and rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.sbe.model import PRIMITIVES
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding SBE")

np: Any = require("numpy", "decoding SBE")

Array = Any  # a NumPy array


class Batch:
    """The bytes of the messages, with a margin behind them so that no gather reads outside.

    Attributes:
        data: all payloads, one after the other, and ``margin`` zero bytes.
        start: the offset in ``data`` at which each message begins.
        end: the offset in ``data`` at which each message ends.
        live: a mask of the messages that are not rejected yet.
        reasons: the reasons of the rejected messages, by index.
    """

    def __init__(self, payloads: pa.BinaryArray, margin: int) -> None:
        count = len(payloads)
        _, offsets, memory = payloads.buffers()
        places = np.zeros(count + 1, dtype=np.int64)
        if count:
            places[:] = np.frombuffer(offsets, dtype=np.int32)[
                payloads.offset : payloads.offset + count + 1
            ]
        first, last = int(places[0]), int(places[-1])
        self.data: Array = np.zeros(last - first + margin, dtype=np.uint8)
        if last > first:
            self.data[: last - first] = np.frombuffer(memory, dtype=np.uint8)[first:last]
        self.start: Array = places[:-1] - first
        self.end: Array = places[1:] - first
        self.live: Array = np.ones(count, dtype=bool)
        self.reasons: dict[int, str] = {}
        self._scalar_view: memoryview | None = None

    @property
    def bytes(self) -> memoryview:
        """The data for reads of single bytes."""
        if self._scalar_view is None:
            self._scalar_view = memoryview(self.data)
        return self._scalar_view

    def reject(self, messages: Array, reason: str | list[str]) -> None:
        """Reject messages; the first reason of each one stays.

        Args:
            messages: the indices of the messages.
            reason: the reason of all, or one for each.
        """
        for at, index in enumerate(messages.tolist()):
            self.reasons.setdefault(index, reason if isinstance(reason, str) else reason[at])
        self.live[messages] = False

    def gather(self, positions: Array, size: int) -> Array:
        """The bytes from each position on, as one item of ``size`` bytes each."""
        if size == 0 or len(positions) == 0:
            return np.zeros(len(positions), dtype=np.dtype(("V", size)) if size else np.uint8)
        window = np.ndarray(
            shape=(len(self.data) - size + 1,), dtype=f"V{size}", buffer=self.data, strides=(1,)
        )
        return window[positions]

    def numbers(self, positions: Array, primitive: str, order: str) -> Array:
        """The number at each position, as int64.

        A number that int64 cannot hold becomes negative.
        """
        size, kind, _ = PRIMITIVES[primitive]
        if len(positions) == 0:
            return np.zeros(0, dtype=np.int64)
        return self.gather(positions, size).view(order + kind).astype(np.int64)

    def records(self, positions: Array, record: Any) -> Array:
        """The record at each position; ``record`` is its NumPy type."""
        if len(positions) == 0:
            return np.zeros(0, dtype=record)
        return self.gather(positions, record.itemsize).view(record)


class Rows:
    """The blocks to read: those of messages, or of the entries of a group.

    Attributes:
        owner: for each row the index of its message, ascending.
        position: the offset at which the block begins; 0 for rows of rejected messages.
        version: the schema version of each row's message.
    """

    def __init__(self, batch: Batch, owner: Array, position: Array, version: Array) -> None:
        self.batch = batch
        self.owner = owner
        self.position = position
        self.version = version
        self._newest = int(version.min()) if len(version) else 0

    def __len__(self) -> int:
        return len(self.owner)

    def absent(self, since: int) -> Array | None:
        """A mask of the rows of versions before ``since``; None when there are none."""
        return None if self._newest >= since else self.version < since

    def reject(self, mask: Array, reason: str | list[str]) -> None:
        """Reject the messages of some rows; rows of messages that are rejected are ignored."""
        found = mask & self.batch.live[self.owner]
        if found.any():
            if isinstance(reason, list):
                reason = [reason[at] for at in np.flatnonzero(found[mask]).tolist()]
            self.batch.reject(self.owner[found], reason)
