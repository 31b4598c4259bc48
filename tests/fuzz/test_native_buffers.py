"""Whatever has a buffer, given to the calls that read or fill buffers, is taken or refused."""

import array
import ctypes
import itertools
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aerolog.archive.format.checksum import Checksum, checksum_for
from aerolog.transport.client import Aeron, OfferStatus
from aerolog.transport.driver import MediaDriver

CHANNEL = "aeron:ipc?term-length=64k"
PATIENCE_S = 10
STREAM_IDS = itertools.count(1000)


class Pair:
    """A publication and the subscription that it is connected to."""

    def __init__(self, aeron: Aeron, stream_id: int, *, exclusive: bool) -> None:
        add = aeron.add_exclusive_publication if exclusive else aeron.add_publication
        self.subscription = aeron.add_subscription(CHANNEL, stream_id)
        self.publication: Any = add(CHANNEL, stream_id)
        self.publication.wait_connected(PATIENCE_S, writable=True)
        self.subscription.wait_connected(PATIENCE_S)

    def received(self) -> list[bytes]:
        """The payloads of what has been published and not yet polled."""
        found: list[bytes] = []
        while batch := [message.data for message in self.subscription.poll_messages(100)]:
            found += batch
        return found


@pytest.fixture(scope="module")
def aeron(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aeron]:
    directory = tmp_path_factory.mktemp("native-buffers") / "aeron"
    with MediaDriver(directory, threading_mode="SHARED"), Aeron(directory) as client:
        yield client


@pytest.fixture(params=[False, True], ids=["shared", "exclusive"])
def pair(aeron: Aeron, request: pytest.FixtureRequest) -> Pair:
    return Pair(aeron, next(STREAM_IDS), exclusive=request.param)


def buffers() -> dict[str, Any]:
    """A buffer of every kind."""
    objects = np.array([object()] * 8, dtype=object)
    mixed = np.zeros(4, dtype=[("Offset", "i8"), ("b", object)])
    return {
        "bytes": bytes(64),
        "bytearray": bytearray(64),
        "memoryview": memoryview(bytearray(64)),
        "strided view": memoryview(bytearray(64))[::2],
        "view of two dimensions": memoryview(bytearray(64)).cast("B", (8, 8)),
        "view without dimensions": memoryview(struct.pack("q", 1)).cast("q", ()),
        "read-only view": memoryview(bytes(64)).toreadonly(),
        "array of doubles": array.array("d", [0.0] * 8),
        "array of integers": array.array("q", [0] * 9),
        "ctypes array": (ctypes.c_int64 * 9)(),
        "ctypes array of two dimensions": ((ctypes.c_char * 4) * 9)(),
        "ctypes pointers": (ctypes.c_void_p * 9)(),
        "ctypes strings": (ctypes.c_char_p * 9)(),
        "ctypes structure": type("S", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int)]})(),
        "objects": objects,
        "records with objects": mixed,
        "records": np.zeros(4, dtype=[("Offset", "i8"), ("P", "S3")]),
        "column of records": np.zeros(9, dtype=[("a", "i4"), ("b", "i8")])["b"],
        "no rows": np.zeros((0, 8), np.uint8),
        "empty rows": np.zeros((8, 0), np.uint8),
        "of length 0": np.zeros(8, "S0"),
        "scalar": np.array(1),
        "backwards": np.zeros((8, 8), np.uint8)[::-1],
        "columns first": np.zeros((8, 8), np.uint8, order="F"),
        "same row again": np.broadcast_to(np.zeros(8, np.uint8), (1000, 8)),
        "big-endian": np.zeros(9, ">i8"),
        "floats": np.zeros(9, np.float64),
        "complex": np.zeros(9, np.complex128),
        "booleans": np.zeros(9, np.bool_),
        "integers": np.zeros(9, np.int64),
        "small integers": np.zeros(9, np.int32),
        "read-only integers": np.frombuffer(bytes(72), np.int64),
        "text": "text",
        "none": None,
        "number": 7,
        "list": [b"a", "b", 3],
        "arrow buffer": pa.py_buffer(bytes(64)),
    }


HOLDS_POINTERS = {"objects", "records with objects", "ctypes pointers", "ctypes strings"}


@pytest.mark.parametrize("kind", list(buffers()))
def test_a_buffer_is_published_as_its_bytes_or_refused(pair: Pair, kind: str) -> None:
    publication, given = pair.publication, buffers()[kind]
    calls = {
        "offer": lambda: publication.offer(given),
        "offer_parts": lambda: publication.offer_parts([b"a", given]),
        "offer_many": lambda: publication.offer_many([given]),
        "offer_array": lambda: publication.offer_array(given),
        "offer_array from 1": lambda: publication.offer_array(given, start=1, limit=2),
        "offer_many of it": lambda: publication.offer_many(given),
        "offer_arrow": lambda: publication.offer_arrow(given),
    }
    if hasattr(publication, "offer_block"):
        calls["offer_block"] = lambda: publication.offer_block(given)
    for name, call in calls.items():
        try:
            result = call()
        except (TypeError, ValueError, BufferError):
            assert not pair.received(), f"{name} of {kind} was refused and published"
            continue
        assert kind not in HOLDS_POINTERS or kind.startswith("ctypes s"), f"{name} published {kind}"
        if name == "offer" and result > 0:
            assert pair.received() == [memoryview(given).tobytes()]
        pair.received()


@pytest.mark.parametrize("kind", list(buffers()))
def test_a_buffer_is_filled_with_messages_or_refused(pair: Pair, kind: str) -> None:
    subscription = pair.subscription
    for column in ("out", "buffer", "offsets", "positions", "session_ids", "reserved_values"):
        given = buffers()[kind]
        for number in range(3):
            assert pair.publication.offer(struct.pack("q", number)) > 0
        try:
            if column == "out":
                subscription.poll_array(out=given)
            elif column == "buffer":
                subscription.poll_into(given, np.zeros(9, np.int64))
            elif column == "offsets":
                subscription.poll_into(bytearray(64), given)
            else:
                subscription.poll_into(bytearray(64), np.zeros(9, np.int64), **{column: given})
        except (TypeError, ValueError, BufferError):
            assert len(pair.received()) == 3, "a call that is refused takes nothing"
            continue
        assert kind not in HOLDS_POINTERS, f"messages were written into {kind} as {column}"
        pair.received()


@pytest.mark.parametrize("dtype", [object, "O,i8", "i8,O"])
def test_messages_do_not_become_pointers(pair: Pair, dtype: object) -> None:
    assert pair.publication.offer(bytes(np.dtype(dtype).itemsize)) > 0
    with pytest.raises(TypeError, match="objects or pointers"):
        pair.subscription.poll_array(dtype)
    assert len(pair.received()) == 1


def test_a_ctypes_array_is_published_row_by_row(pair: Pair) -> None:
    assert pair.publication.offer_array((ctypes.c_int64 * 3)(1, 2, 3)) == 3
    assert pair.received() == [struct.pack("q", number) for number in (1, 2, 3)]
    rows = ((ctypes.c_char * 4) * 2).from_buffer_copy(b"abcdefgh")
    assert pair.publication.offer_array(rows, start=1) == 1
    assert pair.received() == [b"efgh"]


class Nameless:
    """A record batch whose columns have no names, which the Arrow C interface allows."""

    def __init__(self, array: pa.Array) -> None:
        schema = pa.schema([pa.field("", array.type), pa.field("x", pa.int8())])
        other = pa.array([0] * len(array), pa.int8())
        self.batch = pa.record_batch([array, other], schema=schema)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        schema, array = self.batch.__arrow_c_array__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        words = ctypes.cast(get(schema, b"arrow_schema"), ctypes.POINTER(ctypes.c_void_p))
        children = ctypes.cast(words[5], ctypes.POINTER(ctypes.c_void_p))
        ctypes.cast(children[0], ctypes.POINTER(ctypes.c_void_p))[1] = None
        return schema, array


def test_arrow_columns_without_a_name_are_passed_by(pair: Pair) -> None:
    with pytest.raises(TypeError, match="column 'data'"):
        pair.publication.offer_arrow(Nameless(pa.array([b"a", b"b"])))
    assert not pair.received()


def test_arrow_memory_that_was_taken_over_is_refused(pair: Pair) -> None:
    taken = pa.array([b"a"])
    capsules = taken.__arrow_c_array__()

    class Again:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return capsules

    assert pa.array(Again()).to_pylist() == [b"a"]
    with pytest.raises(ValueError, match="taken over"):
        pair.publication.offer_arrow(Again())
    assert not pair.received()


@pytest.mark.parametrize("given", [(), ([],), ("CRC-32C",), (None,)])
def test_a_checksum_is_made_by_its_name_only(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="checksum_for"):
        Checksum(*given)


def test_a_checksum_is_not_stamped_into_objects() -> None:
    checksum = checksum_for("CRC-32C")
    assert checksum is not None
    with pytest.raises(TypeError, match="objects or pointers"):
        checksum.stamp(np.array([None] * 8, dtype=object))


@pytest.mark.parametrize("call", ["offer_many", "try_claim", "offer_array", "offer"])
def test_a_tail_that_somebody_else_corrupted_holds_nobody(aeron: Aeron, call: str) -> None:
    pair = Pair(aeron, 2000 + len(call), exclusive=False)
    publication = pair.publication
    with open(_log_of(publication, aeron), "r+b") as log:  # noqa: PTH123
        log.seek(-4096, 2)
        tails = log.tell()
        log.seek(tails)
        kept = log.read(24)
        # A term id that the count of terms contradicts, in each tail.
        log.seek(tails)
        log.write(b"".join(struct.pack("<q", 77 << 32) for _ in range(3)))
        log.flush()
        given: dict[str, Any] = {
            "offer_many": [b"a"], "try_claim": 8, "offer_array": np.zeros(4, "i8"), "offer": b"a",
        }  # fmt: skip
        answers: list[Any] = []
        worker = threading.Thread(
            target=lambda: answers.append(getattr(publication, call)(given[call])), daemon=True
        )
        worker.start()
        worker.join(PATIENCE_S)
        log.seek(tails)
        log.write(kept)
        log.flush()
        worker.join(PATIENCE_S)
    assert answers, f"{call} did not return"
    if call == "try_claim":
        assert answers[0].position == OfferStatus.ADMIN_ACTION
    elif call == "offer":
        assert answers[0] == OfferStatus.ADMIN_ACTION
    else:
        assert answers == [0]
        assert publication.last_result == OfferStatus.ADMIN_ACTION


def _log_of(publication: Any, aeron: Aeron) -> Path:
    directory = Path(aeron.aeron_dir) / "publications"
    (found,) = directory.glob(f"{publication.registration_id}.logbuffer")
    return found
