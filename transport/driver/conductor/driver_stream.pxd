"""The base of the streams that the conductor runs, whatever their media.

Sub-classes are ReceiveStream and PublicationStream, and those of the latter are IpcStream and
SendStream. Only the conductor's thread calls the methods.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.driver.logs.term_allocation cimport TermAllocation
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.memory.counters cimport CountersReader

cdef enum publication_state:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3


cdef class DriverStream:
    cdef TermAllocation allocation          # of the log; the sub-class makes it
    cdef bint allocation_due          # the disk refused space, or a term is to be allocated
    # Runs in every duty cycle; returns a work count.
    cdef int update(self, int64_t now_ns) noexcept nogil
    # At a timer event: whether something changes that clients have to be told.
    cdef bint needs_control(self, int64_t now_ns) noexcept nogil
    # The part of a timer event of which clients are told nothing.
    cdef void tick(self, int64_t now_ns) noexcept nogil
    # For sub-classes: the part of a limit that is allocated, and a retry at a timer event.
    cdef int64_t granted(self, int64_t limit) noexcept nogil
    cdef void retry_allocation(self) noexcept nogil
    # For sub-classes: a term was allocated beside the conductor, or could not be.
    cdef void on_room(self) noexcept nogil


cdef class PublicationStream(DriverStream):
    cdef LogBuffers logs
    cdef CountersReader counters
    cdef const log_buffer_t* log
    cdef int64_t* pub_pos
    cdef int64_t* pub_lmt
    cdef int64_t* unblocked_publications
    cdef readonly int state
    cdef bint exclusive
    cdef public int64_t references
    cdef int64_t window
    cdef int64_t unblock_timeout_ns
    cdef int64_t last_read_position     # position of the readers when they last made progress
    cdef int64_t last_read_change_ns
    cdef int32_t is_revoked             # written by the conductor, read by the sender too
    cdef readonly SubscriberPositions subscribers   # of an IPC publication; spies of a UDP one
    cdef int64_t* counter(self, int32_t counter_id) except NULL
    # For sub-classes: the position of the readers, which the sender is for a UDP publication.
    cdef int64_t read_position(self) noexcept nogil
    # For sub-classes: a subscriber has come, gone or changed its state.
    cdef void on_subscribers_changed(self) noexcept nogil
    # The position that an untethered subscriber must be past (spec wire-protocol 11).
    cdef int64_t window_limit(self) noexcept nogil
    # Unblock when data is pending and the readers have not moved for the timeout.
    cdef void check_blocked(self, int64_t now_ns) noexcept nogil
    # Turn an abandoned claim where the readers are into padding, only in a term with disk space;
    # whether it did so.
    cdef bint unblock(self) noexcept nogil
