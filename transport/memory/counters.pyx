"""Counters: numbers with labels that any process may read (spec cnc-and-commands 5).

Two sections of cnc.dat, indexed by the counter's id:

    metadata, 512 bytes: i32 state, i32 type id, i64 free-for-reuse deadline (epoch ms),
                         112 bytes key, i32 label length, 380 bytes label (US-ASCII)
    values, 128 bytes:   i64 value, i64 registration id, i64 owner id, i64 reference id

Any thread may use a CountersReader; native code calls ``value_address`` once and then uses the word
itself. The CountersManager belongs to the driver's conductor.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerolog.transport.concurrent.atomic cimport (
    cas_i64,
    get_and_add_i64,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
    store_plain_i32,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.counter cimport counter_is_live, counter_of, counter_t
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.time_units cimport NS_PER_MS

from collections import deque
from dataclasses import dataclass

from aerolog.transport.errors import CountersFullError, FileFormatError

METADATA_LENGTH = COUNTER_METADATA_LENGTH
VALUE_LENGTH = COUNTER_VALUE_LENGTH
LABEL_LENGTH_OFFSET = COUNTER_LABEL_LENGTH_AT
LABEL_OFFSET = COUNTER_LABEL_AT
MAX_LABEL_LENGTH = COUNTER_LABEL_MAX
MAX_KEY_LENGTH = COUNTER_KEY_MAX
NOT_FREE_DEADLINE = INT64_MAX
NULL_COUNTER_ID = -1
RECORD_UNUSED = COUNTER_UNUSED
RECORD_ALLOCATED = COUNTER_ALLOCATED
RECORD_RECLAIMED = COUNTER_RECLAIMED


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """Values of a counter at one moment; the key includes its unused bytes, which are zeros."""

    counter_id: int
    type_id: int
    value: int
    registration_id: int
    owner_id: int
    reference_id: int
    label: str
    key: bytes


cdef class CountersReader:
    """The counters of a driver for any reader.

    Args:
        mapped: the file that holds both sections.
        metadata_offset: offset of the metadata section, a multiple of 8.
        metadata_length: bytes of the metadata section.
        values_offset: offset of the values section, a multiple of 8.
        values_length: bytes of the values section.

    Attributes:
        max_counter_id: the highest id for which the sections have room.
    """

    def __cinit__(
        self,
        MappedFile mapped not None,
        int64_t metadata_offset,
        int64_t metadata_length,
        int64_t values_offset,
        int64_t values_length,
        *args,
        **kwargs,
    ):
        if metadata_offset % 8 or values_offset % 8:
            raise FileFormatError(
                f"counters at offsets {metadata_offset} and {values_offset} are not aligned to 8"
            )
        self.metadata = mapped.section(metadata_offset, metadata_length)
        self.values = mapped.section(values_offset, values_length)
        self._mapped = mapped
        self.max_counter_id = <int32_t> (
            min(
                metadata_length // COUNTER_METADATA_LENGTH,
                values_length // COUNTER_VALUE_LENGTH,
            ) - 1
        )

    cdef int64_t* value_address(self, int32_t counter_id) noexcept nogil:
        """Address of the value; NULL if the id is out of range. Valid while this object lives."""
        if counter_id < 0 or counter_id > self.max_counter_id:
            return NULL
        return <int64_t*> (self.values + <int64_t> counter_id * COUNTER_VALUE_LENGTH)

    cdef int32_t state(self, int32_t counter_id) noexcept nogil:
        """COUNTER_ALLOCATED, COUNTER_RECLAIMED or COUNTER_UNUSED (also if out of range)."""
        if counter_id < 0 or counter_id > self.max_counter_id:
            return COUNTER_UNUSED
        return load_acquire_i32(
            self.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH + COUNTER_STATE_AT
        )

    cdef int64_t value_of(self, int32_t counter_id) noexcept nogil:
        """The value, 0 when the id is out of range."""
        cdef int64_t* address = self.value_address(counter_id)
        return 0 if address == NULL else load_acquire_i64(address)

    cdef int64_t registration_of(self, int32_t counter_id) noexcept nogil:
        """The registration id, 0 when the id is out of range."""
        cdef int64_t* address = self.value_address(counter_id)
        if address == NULL:
            return 0
        return load_acquire_i64(<uint8_t*> address + COUNTER_REGISTRATION_AT)

    cdef uint8_t* _record(self, int64_t counter_id) except NULL:
        if counter_id < 0 or counter_id > self.max_counter_id:
            raise IndexError(f"counter id {counter_id} is not within 0 to {self.max_counter_id}")
        self._mapped.check_whole()
        return self.metadata + counter_id * COUNTER_METADATA_LENGTH

    cdef uint8_t* _value_record(self, int64_t counter_id) except NULL:
        self._record(counter_id)
        return self.values + counter_id * COUNTER_VALUE_LENGTH

    cdef uint8_t* _writable_value(self, int64_t counter_id) except NULL:
        self._mapped.check_writable()
        return self._value_record(counter_id)

    def counter_state(self, counter_id: int) -> int:
        """RECORD_ALLOCATED, RECORD_RECLAIMED or RECORD_UNUSED."""
        return load_acquire_i32(self._record(counter_id) + COUNTER_STATE_AT)

    def counter_type_id(self, counter_id: int) -> int:
        """Type id of the counter, which says what it counts."""
        return load_plain_i32(self._record(counter_id) + COUNTER_TYPE_AT)

    def counter_value(self, counter_id: int) -> int:
        """Value of the counter, read with acquire order."""
        return load_acquire_i64(self._value_record(counter_id) + COUNTER_VALUE_AT)

    def counter_registration_id(self, counter_id: int) -> int:
        """Registration id of the resource that the counter belongs to; 0 until it is set."""
        return load_acquire_i64(self._value_record(counter_id) + COUNTER_REGISTRATION_AT)

    def counter_owner_id(self, counter_id: int) -> int:
        """Id of the client that owns the counter; -1 for the driver, 0 if it was never set."""
        return load_plain_i64(self._value_record(counter_id) + COUNTER_OWNER_AT)

    def counter_reference_id(self, counter_id: int) -> int:
        """Reference id of the counter, whose meaning depends on the type."""
        return load_plain_i64(self._value_record(counter_id) + COUNTER_REFERENCE_AT)

    def free_for_reuse_deadline_ms(self, counter_id: int) -> int:
        """Epoch milliseconds from which a freed counter may be used again."""
        return load_plain_i64(self._record(counter_id) + COUNTER_DEADLINE_AT)

    def counter_label(self, counter_id: int) -> str:
        """Label of the counter, at most 380 characters."""
        cdef const uint8_t* record = self._record(counter_id)
        cdef int32_t length = load_acquire_i32(record + COUNTER_LABEL_LENGTH_AT)
        length = max(0, min(length, COUNTER_LABEL_MAX))
        return record[COUNTER_LABEL_AT:COUNTER_LABEL_AT + length].decode("ascii", "replace")

    def counter_key(self, counter_id: int) -> bytes:
        """All 112 bytes of the key."""
        cdef const uint8_t* record = self._record(counter_id)
        return PyBytes_FromStringAndSize(<const char*> record + COUNTER_KEY_AT, COUNTER_KEY_MAX)

    def set_value(self, counter_id: int, value: int) -> None:
        """Store a value with release order."""
        cdef int64_t wanted = value
        store_release_i64(self._writable_value(counter_id) + COUNTER_VALUE_AT, wanted)

    def propose_max(self, counter_id: int, value: int) -> bool:
        """Store a value if it is larger; only the counter's single writer may call this."""
        cdef int64_t wanted = value
        cdef uint8_t* record = self._writable_value(counter_id)
        if load_plain_i64(record + COUNTER_VALUE_AT) >= wanted:
            return False
        store_release_i64(record + COUNTER_VALUE_AT, wanted)
        return True

    def get_and_add(self, counter_id: int, delta: int) -> int:
        """Add to the value, from any thread or process; returns the value before."""
        cdef int64_t amount = delta
        return get_and_add_i64(self._writable_value(counter_id) + COUNTER_VALUE_AT, amount)

    def compare_and_set(self, counter_id: int, expected: int, value: int) -> bool:
        """Store a value if the present one is ``expected``; returns whether it was."""
        cdef int64_t old = expected, wanted = value
        return cas_i64(self._writable_value(counter_id) + COUNTER_VALUE_AT, old, wanted)

    def append_to_label(self, counter_id: int, suffix: str) -> int:
        """Append to a label, up to 380 bytes, as the counter's owner; returns the bytes added."""
        self._writable_value(counter_id)
        cdef uint8_t* record = self._record(counter_id)
        cdef int32_t claimed = load_plain_i32(record + COUNTER_LABEL_LENGTH_AT)
        cdef int32_t length = max(0, min(claimed, COUNTER_LABEL_MAX))
        cdef bytes text = suffix.encode("ascii", "replace")[:COUNTER_LABEL_MAX - length]
        memcpy(record + COUNTER_LABEL_AT + length, <const char*> text, len(text))
        store_release_i32(record + COUNTER_LABEL_LENGTH_AT, length + <int32_t> len(text))
        return len(text)

    def is_live(self, counter_id: int, registration_id: int) -> bool:
        """Return whether a counter is allocated, and still that of a registration."""
        cdef int64_t wanted = registration_id
        return (
            load_acquire_i32(self._record(counter_id) + COUNTER_STATE_AT) == COUNTER_ALLOCATED
            and self.registration_of(counter_id) == wanted
        )

    def snapshot(self, counter_id: int) -> CounterSnapshot | None:
        """Return all values of a counter, None if it is not allocated or was freed meanwhile."""
        if self.counter_state(counter_id) != COUNTER_ALLOCATED:
            return None
        registration_id = self.counter_registration_id(counter_id)
        found = CounterSnapshot(
            counter_id,
            self.counter_type_id(counter_id),
            self.counter_value(counter_id),
            registration_id,
            self.counter_owner_id(counter_id),
            self.counter_reference_id(counter_id),
            self.counter_label(counter_id),
            self.counter_key(counter_id),
        )
        # The parts are those of one counter if it is the same afterwards.
        return found if self.is_live(counter_id, registration_id) else None

    def __iter__(self):
        """Yield snapshots of the allocated counters by id, up to the first unused record."""
        cdef int32_t counter_id = 0
        while counter_id <= self.max_counter_id:
            if self.state(counter_id) == COUNTER_UNUSED:
                break
            found = self.snapshot(counter_id)
            if found is not None:
                yield found
            counter_id += 1
        self._mapped.check_whole()

    def find_by_registration_id(self, registration_id: int, type_id: int | None = None) -> int:
        """Id of the first allocated counter of a registration (and type), -1 when there is none."""
        cdef int64_t wanted = registration_id
        cdef int32_t counter_id = 0, state
        while counter_id <= self.max_counter_id:
            state = self.state(counter_id)
            if state == COUNTER_UNUSED:
                break
            if state == COUNTER_ALLOCATED and self.registration_of(counter_id) == wanted:
                if type_id is None or self.counter_type_id(counter_id) == type_id:
                    return counter_id
            counter_id += 1
        return NULL_COUNTER_ID

    def find_by_key_i64(self, type_id: int, key: int) -> int:
        """Id of the first allocated counter of a type whose key begins with an i64; else -1."""
        cdef int64_t wanted = key
        cdef int32_t counter_id = 0, state, kind = type_id
        cdef uint8_t* record
        while counter_id <= self.max_counter_id:
            state = self.state(counter_id)
            if state == COUNTER_UNUSED:
                break
            record = self.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
            if state == COUNTER_ALLOCATED and load_plain_i32(record + COUNTER_TYPE_AT) == kind:
                if load_plain_i64(record + COUNTER_KEY_AT) == wanted:
                    return counter_id
            counter_id += 1
        return NULL_COUNTER_ID


cdef class CountersManager(CountersReader):
    """Allocates and frees the counters of a fresh file; for the driver's conductor only.

    Args:
        mapped: the file that holds both sections, with all counters unused.
        metadata_offset: offset of the metadata section, a multiple of 8.
        metadata_length: bytes of the metadata section.
        values_offset: offset of the values section, a multiple of 8.
        values_length: bytes of the values section.
        clock: tells when a freed counter may be used again.
        reuse_timeout_ms: milliseconds for which the id of a freed counter is not used.
    """

    def __init__(
        self,
        mapped: MappedFile,
        metadata_offset: int,
        metadata_length: int,
        values_offset: int,
        values_length: int,
        clock: Clock,
        reuse_timeout_ms: int = 1000,
    ) -> None:
        (<MappedFile> mapped).check_writable()
        self._clock = clock
        self.reuse_timeout_ms = reuse_timeout_ms
        self._high_water_mark = -1
        self._free_ids = deque()

    def allocate(
        self,
        type_id: int,
        label: str,
        key=b"",
        registration_id: int | None = None,
        owner_id: int | None = None,
        reference_id: int | None = None,
        value: int | None = None,
    ) -> int:
        """Allocate a counter.

        Args:
            type_id: says what the counter counts.
            label: truncated to 380 characters; characters outside US-ASCII become ``?``.
            key: truncated to 112 bytes.
            registration_id: stored after the allocation if given, as are the next three.
            owner_id: id of the client that owns the counter; -1 for the driver.
            reference_id: its meaning depends on the type.
            value: the initial value.

        Returns:
            The counter's id.

        Raises:
            CountersFullError: if all ids are in use.
        """
        cdef bytes key_bytes = bytes(key)[:COUNTER_KEY_MAX]
        cdef int32_t kind = type_id
        cdef int32_t counter_id = self._next_id()
        cdef uint8_t* record = self._record(counter_id)
        store_plain_i32(record + COUNTER_TYPE_AT, kind)
        store_plain_i64(record + COUNTER_DEADLINE_AT, INT64_MAX)
        memcpy(record + COUNTER_KEY_AT, <const char*> key_bytes, len(key_bytes))
        self.set_label(counter_id, label)
        store_release_i32(record + COUNTER_STATE_AT, COUNTER_ALLOCATED)
        if registration_id is not None:
            self.set_registration_id(counter_id, registration_id)
        if owner_id is not None:
            self.set_owner_id(counter_id, owner_id)
        if reference_id is not None:
            self.set_reference_id(counter_id, reference_id)
        if value is not None:
            self.set_value(counter_id, value)
        return counter_id

    cdef int32_t _next_id(self) except -1:
        # The deadline in the record is for people: a step of the wall clock must neither end an
        # id's rest nor prolong it.
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int32_t counter_id
        cdef uint8_t* record
        for position, (candidate, deadline_ns) in enumerate(self._free_ids):
            counter_id = candidate
            if deadline_ns <= now_ns:
                del self._free_ids[position]
                record = self._value_record(counter_id)
                store_release_i64(record + COUNTER_REGISTRATION_AT, 0)
                store_plain_i64(record + COUNTER_OWNER_AT, 0)
                store_plain_i64(record + COUNTER_REFERENCE_AT, 0)
                store_release_i64(record + COUNTER_VALUE_AT, 0)
                return counter_id
        if self._high_water_mark >= self.max_counter_id:
            raise CountersFullError(
                f"unable to allocate counter, buffer is full: maxCounterId={self.max_counter_id}"
            )
        self._high_water_mark += 1
        return self._high_water_mark

    def free(self, counter_id: int) -> None:
        """Free a counter; its id is not used again before the reuse timeout.

        Raises:
            ValueError: if the counter is not allocated.
        """
        cdef uint8_t* record = self._record(counter_id)
        if load_plain_i32(record + COUNTER_STATE_AT) != COUNTER_ALLOCATED:
            raise ValueError(f"counter not allocated: id={counter_id}")
        store_release_i32(record + COUNTER_STATE_AT, COUNTER_RECLAIMED)
        memset(record + COUNTER_KEY_AT, 0, COUNTER_KEY_MAX)
        store_plain_i64(
            record + COUNTER_DEADLINE_AT, self._clock.epoch_ms() + self.reuse_timeout_ms
        )
        self._free_ids.append(
            (counter_id, self._clock.nano_time() + self.reuse_timeout_ms * NS_PER_MS)
        )

    def set_registration_id(self, counter_id: int, registration_id: int) -> None:
        """Store the registration id of the resource that a counter belongs to."""
        cdef int64_t wanted = registration_id
        store_release_i64(self._value_record(counter_id) + COUNTER_REGISTRATION_AT, wanted)

    def set_owner_id(self, counter_id: int, owner_id: int) -> None:
        """Store the id of the client that owns a counter."""
        cdef int64_t wanted = owner_id
        store_plain_i64(self._value_record(counter_id) + COUNTER_OWNER_AT, wanted)

    def set_reference_id(self, counter_id: int, reference_id: int) -> None:
        """Store the reference id of a counter."""
        cdef int64_t wanted = reference_id
        store_plain_i64(self._value_record(counter_id) + COUNTER_REFERENCE_AT, wanted)

    def set_label(self, counter_id: int, label: str) -> None:
        """Replace a label; if the old one was longer, its last bytes remain behind the new end."""
        cdef bytes text = label.encode("ascii", "replace")[:COUNTER_LABEL_MAX]
        cdef uint8_t* record = self._record(counter_id)
        memcpy(record + COUNTER_LABEL_AT, <const char*> text, len(text))
        store_release_i32(record + COUNTER_LABEL_LENGTH_AT, <int32_t> len(text))

    def set_key(self, counter_id: int, key) -> None:
        """Overwrite the first bytes of a key."""
        cdef bytes key_bytes = bytes(key)[:COUNTER_KEY_MAX]
        memcpy(self._record(counter_id) + COUNTER_KEY_AT, <const char*> key_bytes, len(key_bytes))

    def available(self) -> int:
        """Number of counters that can be allocated now."""
        now_ns = self._clock.now_ns()
        resting = sum(deadline_ns > now_ns for _, deadline_ns in self._free_ids)
        return self.max_counter_id - self._high_water_mark + len(self._free_ids) - resting


def set_reference_id(
    CountersReader counters not None, counter_id: int, registration_id: int, reference_id: int
) -> None:
    """Set the reference id in the record of a client's own counter (spec counters 1).

    Nothing is stored if the driver has taken the counter back.
    """
    cdef counter_t counter = counter_of(counters, counter_id, registration_id)
    if counter.value == NULL:
        raise ValueError(f"no counter {counter_id}")
    if counter_is_live(&counter):
        store_release_i64(<uint8_t*> counter.value + COUNTER_REFERENCE_AT, reference_id)
