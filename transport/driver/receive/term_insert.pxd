"""The effect of a datagram on an image: whether it fits, and how it is inserted and cleaned up.

Spec wire-protocol 9.1, spec log-buffers 15; for native code.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.cleaner cimport clean_log
from aerolog.transport.logbuffer.descriptor cimport log_buffer_t

cpdef enum:
    PACKET_ACCEPTED = 0
    PACKET_OVER_RUN = 1             # count it, drop it
    PACKET_UNDER_RUN = 2            # count it, drop it
    PACKET_UNDER_RUN_LAGGING = 3    # count it, track its connection, drop it

cpdef enum:
    INSERT_REFUSED = -1     # the datagram is invalid or does not fit
    INSERT_PRESENT = 0      # there is data already
    INSERT_DONE = 1

# The limits that the last status message sets; all in bytes.
ctypedef struct receive_window_t:
    int64_t last_status_position
    int64_t over_run_threshold      # last status position + term length / 2
    int32_t max_window
    int32_t term_length


cdef inline void set_receive_window(
    receive_window_t* window, int64_t status_position, int32_t max_window, int32_t term_length
) noexcept nogil:
    """Set the limits after a status message was sent (or, at first, at the initial position)."""
    window.last_status_position = status_position
    window.over_run_threshold = status_position + term_length // 2
    window.max_window = max_window
    window.term_length = term_length


cdef inline int judge_packet(
    const receive_window_t* window, int64_t position, int32_t length, bint heartbeat
) noexcept nogil:
    """Judge a packet; `position` is that of its first frame, `length` that of the datagram.

    Padding takes its sender to the end of the term as soon as its header fits the window, so that
    heartbeats may lie at that end and beyond the threshold. They count, although the reference
    drops them (9.1): nothing else shows the loss of the last datagrams before the padding, and no
    NAK would ask for them until the image times out.
    """
    cdef int64_t proposed = position if heartbeat else position + length
    cdef int64_t beyond = proposed - window.over_run_threshold
    if beyond > 0:
        if not (
            heartbeat
            and position & (window.term_length - 1) == 0
            and beyond < window.term_length // 8
        ):
            return PACKET_OVER_RUN
    if heartbeat:
        if position >= max(0, window.last_status_position - window.term_length):
            return PACKET_ACCEPTED
        return PACKET_UNDER_RUN
    if position >= window.last_status_position:
        return PACKET_ACCEPTED
    if position >= window.last_status_position - window.max_window:
        return PACKET_UNDER_RUN_LAGGING
    return PACKET_UNDER_RUN


cdef inline int64_t clean_image(
    const log_buffer_t* log, int64_t* clean_position, int64_t min_subscriber_position
) noexcept nogil:
    """Zero what all subscribers passed a term ago, at most to the end of one term in a call.

    Clients write subscriber positions, so the caller has to bound them by the rebuild position.
    Returns the number of bytes cleaned.
    """
    if min_subscriber_position < log.term_length:
        return 0
    return clean_log(log, clean_position, min_subscriber_position - log.term_length)


# Writes the frames of a datagram to their place, at a packet position that was accepted.
cdef int insert_datagram(
    const log_buffer_t* log, int64_t position, const uint8_t* data, int32_t length
) noexcept nogil
