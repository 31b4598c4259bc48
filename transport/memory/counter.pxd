"""One counter of one registration, for native code that keeps its address.

A driver frees a counter when its owner leaves or falls silent, and gives its id to another
registration later. Whoever keeps the address of a counter that another process may free therefore
asks `counter_is_live`: after it has read the value and before it uses it, and before it writes
(spec cnc-and-commands 5).

What a counter protects, such as the part of a log behind a subscriber's position, may be
overwritten once it is freed. Whoever reads that asks after it has read and before it uses what it
read; a process that is stopped in between then finds the counter gone when it goes on. Between the
question and a store there are a few instructions, which nothing protects.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport (
    fence_acquire,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i64,
)
from aerolog.transport.memory.counters cimport (
    COUNTER_ALLOCATED,
    COUNTER_METADATA_LENGTH,
    COUNTER_REFERENCE_AT,
    COUNTER_REGISTRATION_AT,
    COUNTER_STATE_AT,
    CountersReader,
)


# The addresses are valid while the CountersReader lives; value is NULL when there is no counter.
cdef struct counter_t:
    int64_t* value
    const uint8_t* state
    const uint8_t* holder       # the word of its record that says whose it is
    int64_t registration_id     # what stands there while the counter is its own


cdef inline counter_t no_counter() noexcept nogil:
    cdef counter_t counter
    counter.value = NULL
    counter.state = NULL
    counter.holder = NULL
    counter.registration_id = 0
    return counter


cdef inline counter_t counter_of(
    CountersReader counters, int32_t counter_id, int64_t registration_id
) noexcept nogil:
    """The counter that a registration was given; its value is NULL if there is no such id.

    It may be another's already, which `counter_is_live` says.
    """
    cdef counter_t counter = no_counter()
    cdef int64_t* value = counters.value_address(counter_id)
    if value == NULL:
        return counter
    counter.value = value
    counter.state = (
        counters.metadata + <int64_t> counter_id * COUNTER_METADATA_LENGTH + COUNTER_STATE_AT
    )
    counter.holder = <const uint8_t*> value + COUNTER_REGISTRATION_AT
    counter.registration_id = registration_id
    return counter


cdef inline counter_t counter_of_image(
    CountersReader counters, int32_t counter_id, int64_t subscription_id, int64_t image_id
) noexcept nogil:
    """The position of a subscriber of an image.

    A subscription has several images, so it is the image by which the position is known: the driver
    writes it to the reference id before it announces the image. A driver that leaves that word at 0
    has only the subscription's registration there.
    """
    cdef counter_t counter = counter_of(counters, counter_id, subscription_id)
    cdef const uint8_t* reference
    if counter.value != NULL:
        reference = <const uint8_t*> counter.value + COUNTER_REFERENCE_AT
        if load_acquire_i64(reference) != 0:
            counter.holder = reference
            counter.registration_id = image_id
    return counter


cdef inline counter_t counter_at(CountersReader counters, int32_t counter_id) noexcept nogil:
    """The counter with an id, as it is registered now; its value is NULL if there is none."""
    if counters.state(counter_id) != COUNTER_ALLOCATED:
        return no_counter()
    return counter_of(counters, counter_id, counters.registration_of(counter_id))


cdef inline bint counter_is_held(const counter_t* counter) noexcept nogil:
    """Whether no other registration has the counter, so that its last value still stands in it."""
    return (
        counter.value != NULL
        and load_acquire_i64(counter.holder) == counter.registration_id
    )


cdef inline bint counter_is_live(const counter_t* counter) noexcept nogil:
    """Whether the counter is still that of its registration: neither freed nor another's."""
    fence_acquire()  # what was read before stays before
    return (
        counter.value != NULL
        and load_acquire_i32(counter.state) == COUNTER_ALLOCATED
        and load_acquire_i64(counter.holder) == counter.registration_id
    )


cdef inline bint store_counter(const counter_t* counter, int64_t value) noexcept nogil:
    """Store a value if the counter is live; returns whether it is."""
    if not counter_is_live(counter):
        return False
    store_release_i64(counter.value, value)
    return True
