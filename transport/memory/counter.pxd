"""One counter of one registration, for native code that keeps its address.

A driver frees a counter when its owner leaves or falls silent, and gives its id to another
registration later. Whoever keeps the address of a counter that another process may free therefore
asks `counter_is_live`: after it has read the value and before it uses it, and before it writes
(spec cnc-and-commands 5).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport load_acquire_i32, load_acquire_i64
from aerolog.transport.memory.counters cimport (
    COUNTER_ALLOCATED,
    COUNTER_METADATA_LENGTH,
    COUNTER_REGISTRATION_AT,
    COUNTER_STATE_AT,
    CountersReader,
)


# The addresses are valid while the CountersReader lives; value is NULL when there is no counter.
cdef struct counter_t:
    int64_t* value
    const uint8_t* state
    int64_t registration_id


cdef inline counter_t no_counter() noexcept nogil:
    cdef counter_t counter
    counter.value = NULL
    counter.state = NULL
    counter.registration_id = 0
    return counter


cdef inline counter_t counter_at(CountersReader counters, int32_t counter_id) noexcept nogil:
    """The counter with an id, as it is registered now; its value is NULL if there is none."""
    cdef counter_t counter = no_counter()
    if counters.state(counter_id) != COUNTER_ALLOCATED:
        return counter
    counter.registration_id = counters.registration_of(counter_id)
    counter.state = (
        counters.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH + COUNTER_STATE_AT
    )
    counter.value = counters.value_address(counter_id)
    return counter


cdef inline bint counter_is_live(const counter_t* counter) noexcept nogil:
    """Whether the counter is still that of its registration: neither freed nor another's."""
    return (
        counter.value != NULL
        and load_acquire_i32(counter.state) == COUNTER_ALLOCATED
        and load_acquire_i64(
            <const uint8_t*> counter.value + COUNTER_REGISTRATION_AT
        ) == counter.registration_id
    )
