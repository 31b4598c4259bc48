"""All allocated counters in two passes: the numbers as close together in time as can be, then
keys and labels.

A driver may free and reuse a counter in between; then its row is left out.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i32,
    load_plain_i64,
)
from aerolog.transport.memory.counters cimport (
    COUNTER_ALLOCATED,
    COUNTER_KEY_AT,
    COUNTER_KEY_MAX,
    COUNTER_LABEL_AT,
    COUNTER_LABEL_LENGTH_AT,
    COUNTER_LABEL_MAX,
    COUNTER_METADATA_LENGTH,
    COUNTER_OWNER_AT,
    COUNTER_REFERENCE_AT,
    COUNTER_REGISTRATION_AT,
    COUNTER_TYPE_AT,
    COUNTER_UNUSED,
    COUNTER_VALUE_LENGTH,
    CountersReader,
)

from array import array
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScannedCounters:
    """Allocated counters as columns, by id.

    Attributes:
        ids: of the counters, ascending.
        type_ids: their kinds.
        values: their values.
        registration_ids: what they belong to.
        owner_ids: the clients they belong to.
        reference_ids: what else they refer to.
        keys: 112 bytes a counter, one after the other.
        label_offsets: where each label begins in ``labels``; one more than counters.
        labels: the labels' bytes, one after the other.
    """

    ids: array
    type_ids: array
    values: array
    registration_ids: array
    owner_ids: array
    reference_ids: array
    keys: bytes
    label_offsets: array
    labels: bytes


cdef inline int32_t _label_length(const uint8_t* record) noexcept nogil:
    return max(0, min(load_acquire_i32(record + COUNTER_LABEL_LENGTH_AT), COUNTER_LABEL_MAX))


def scan_counters(CountersReader reader not None) -> ScannedCounters:
    """Read all allocated counters up to the first record that was never used.

    Args:
        reader: of a driver's counters, whatever they hold.
    """
    cdef int32_t allocated = 0
    cdef int32_t end = 0
    cdef int32_t state
    with nogil:
        while end <= reader.max_counter_id:
            state = reader.state(end)
            if state == COUNTER_UNUSED:
                break
            allocated += state == COUNTER_ALLOCATED
            end += 1
    # Counters may be allocated while we look: there is room for all below the end.
    ids = array("i", bytes(4 * allocated))
    type_ids = array("i", bytes(4 * allocated))
    values = array("q", bytes(8 * allocated))
    registrations = array("q", bytes(8 * allocated))
    owners = array("q", bytes(8 * allocated))
    references = array("q", bytes(8 * allocated))
    cdef int32_t[::1] id_at = ids
    cdef int32_t[::1] type_at = type_ids
    cdef int64_t[::1] value_at = values
    cdef int64_t[::1] registration_at = registrations
    cdef int64_t[::1] owner_at = owners
    cdef int64_t[::1] reference_at = references
    cdef int32_t found = 0
    cdef int32_t counter_id
    cdef int64_t room = 0
    cdef const uint8_t* record
    cdef const uint8_t* numbers
    with nogil:
        for counter_id in range(end):
            if found == allocated:
                break
            if reader.state(counter_id) != COUNTER_ALLOCATED:
                continue
            record = reader.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
            numbers = reader.values + <int64_t> counter_id * COUNTER_VALUE_LENGTH
            id_at[found] = counter_id
            type_at[found] = load_plain_i32(record + COUNTER_TYPE_AT)
            value_at[found] = load_acquire_i64(numbers)
            registration_at[found] = load_acquire_i64(numbers + COUNTER_REGISTRATION_AT)
            owner_at[found] = load_plain_i64(numbers + COUNTER_OWNER_AT)
            reference_at[found] = load_plain_i64(numbers + COUNTER_REFERENCE_AT)
            room += _label_length(record)
            found += 1
    keys = bytearray(<int64_t> found * COUNTER_KEY_MAX)
    labels = bytearray(room)
    offsets = array("i", bytes(4 * (found + 1)))
    cdef uint8_t[::1] key_bytes = keys
    cdef uint8_t[::1] label_bytes = labels
    cdef int32_t[::1] offset_at = offsets
    cdef int32_t kept = 0, row, length
    cdef int64_t used = 0
    with nogil:
        for row in range(found):
            counter_id = id_at[row]
            record = reader.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
            numbers = reader.values + <int64_t> counter_id * COUNTER_VALUE_LENGTH
            # A label may have grown since it was measured: what does not fit is cut.
            length = <int32_t> min(<int64_t> _label_length(record), room - used)
            memcpy(
                &key_bytes[<int64_t> kept * COUNTER_KEY_MAX],
                record + COUNTER_KEY_AT,
                COUNTER_KEY_MAX,
            )
            if length > 0:
                memcpy(&label_bytes[used], record + COUNTER_LABEL_AT, length)
            if not _is_same(reader, counter_id, type_at[row], registration_at[row]):
                continue
            used += length
            id_at[kept] = counter_id
            type_at[kept] = type_at[row]
            value_at[kept] = value_at[row]
            registration_at[kept] = registration_at[row]
            owner_at[kept] = owner_at[row]
            reference_at[kept] = reference_at[row]
            kept += 1
            offset_at[kept] = <int32_t> used
    return ScannedCounters(
        ids[:kept],
        type_ids[:kept],
        values[:kept],
        registrations[:kept],
        owners[:kept],
        references[:kept],
        bytes(keys[:<int64_t> kept * COUNTER_KEY_MAX]),
        offsets[:kept + 1],
        bytes(labels[:used]),
    )


cdef bint _is_same(
    CountersReader reader, int32_t counter_id, int32_t type_id, int64_t registration_id
) noexcept nogil:
    """Whether a counter is still the one it was. A fresh one gets its registration id late."""
    cdef const uint8_t* record
    if reader.state(counter_id) != COUNTER_ALLOCATED:
        return False
    record = reader.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH
    if load_plain_i32(record + COUNTER_TYPE_AT) != type_id:
        return False
    return registration_id == 0 or reader.registration_of(counter_id) == registration_id
