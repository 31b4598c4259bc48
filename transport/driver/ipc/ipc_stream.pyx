"""The native part of one IPC publication: limits, cleaning, unblocking, liveness of subscribers.

Spec log-buffers 13, 17, 18; spec cnc-and-commands 14.3, 15.4. One conductor owns a stream: native
methods run in its duty cycle without the GIL, the Python ones in its control part on the same
thread, so no lock is needed. Shared words (positions, tails, limits) are accessed by atomics.

The publication limit stays where the disk space of the log ends; see ``term_allocation``.
"""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.atomic cimport load_plain_i64, store_release_i64
from aerolog.transport.driver.conductor.driver_stream cimport (
    PUBLICATION_ACTIVE,
    PUBLICATION_DRAINING,
    PublicationStream,
)
from aerolog.transport.driver.logs.term_allocation cimport TermAllocation
from aerolog.transport.logbuffer.cleaner cimport clean_log
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    producer_position,
    set_log_connected,
)
from aerolog.transport.memory.counters cimport CountersReader


cdef class IpcStream(PublicationStream):
    """Limits, positions and states of one IPC publication.

    Args besides those of `PublicationStream`:
        sparse: whether disk space is allocated as the limit moves.
        plenty: whether the disk has so much space that it cannot become full in a moment.
    """

    def __cinit__(
        self,
        LogBuffers logs not None,
        CountersReader counters not None,
        *,
        int pub_pos_id,
        int pub_lmt_id,
        bint exclusive,
        bint sparse,
        bint plenty,
        initial_position,
        window_length,
        unblock_timeout_ns,
        window_limit_timeout_ns,
        linger_timeout_ns,
        resting_timeout_ns,
        now_ns,
    ):
        self._trip_gain = self.window // 8
        self._trip_limit = 0
        self._consumer_position = initial_position
        self._clean_position = initial_position
        self.allocation = TermAllocation(
            logs, initial_position, sparse=sparse, single_writer=exclusive, plenty=plenty
        )

    # ---- the duty cycle -------------------------------------------------------------------

    cdef int update(self, int64_t now_ns) noexcept nogil:
        """Sample the publisher, move the limit, and clean what all subscribers have consumed."""
        cdef int64_t slowest, fastest, limit, granted, made
        cdef int64_t producer
        if self.state != PUBLICATION_ACTIVE:
            return 0
        slowest = self.subscribers.lowest(&fastest)
        producer = producer_position(self.log)
        if load_plain_i64(self.pub_pos) != producer:
            store_release_i64(self.pub_pos, producer)
        if slowest >= 0:
            # A client writes these: what it claims beyond the publisher's position is not believed.
            slowest = min(slowest, producer)
            fastest = min(fastest, producer)
            if fastest > self._consumer_position:
                self._consumer_position = fastest
            limit = slowest + self.window
            if limit < self._trip_limit:
                return 0
            # Only where there is disk space, whatever a client has made of the log's tail.
            clean_log(self.log, &self._clean_position, min(slowest, self.allocation.limit))
            made = self.allocation.made
            granted = self.granted(self.allocation.needed(limit, producer))
            if granted == limit:
                self._trip_limit = limit + self._trip_gain
            elif load_plain_i64(self.pub_lmt) == granted:
                return made != self.allocation.made    # the next cycle allocates more
            store_release_i64(self.pub_lmt, granted)
            return 1
        if load_plain_i64(self.pub_lmt) > self._consumer_position:
            self._trip_limit = self._consumer_position
            store_release_i64(self.pub_lmt, self._consumer_position)
            clean_log(
                self.log,
                &self._clean_position,
                min(self._consumer_position, self.allocation.limit),
            )
            return 1
        return 0

    # ---- timer events -----------------------------------------------------------------------

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        """Return whether this timer event changes something that clients have to be told."""
        if self.state == PUBLICATION_ACTIVE:
            if self.is_revoked != 0:
                return True
            if self._cooling_down and self._cool_down_end_ns - now_ns <= 0:
                return True
            return self.subscribers.any_due(self.window_limit(), now_ns)
        if self.state == PUBLICATION_DRAINING:
            return self.subscribers.all_reached(producer_position(self.log))
        return self.references == 0

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        """Do the work of a timer event of which clients are told nothing."""
        cdef int64_t producer
        if self.state == PUBLICATION_ACTIVE:
            self.subscribers.note_active(self.window_limit(), now_ns)
            set_log_connected(self.log, self.subscribers.in_flow > 0)
            self.retry_allocation()
            self.allocation.settle()
        if self.state == PUBLICATION_ACTIVE or self.state == PUBLICATION_DRAINING:
            producer = producer_position(self.log)
            if load_plain_i64(self.pub_pos) != producer:
                store_release_i64(self.pub_pos, producer)
            if self.state == PUBLICATION_DRAINING:
                self.unblock()
            elif not self.exclusive:
                self.check_blocked(now_ns)

    cdef int64_t read_position(self) noexcept nogil:
        """Return the highest position at which any subscriber has been seen."""
        return self._consumer_position

    cdef void on_subscribers_changed(self) noexcept nogil:
        if self.state == PUBLICATION_ACTIVE:
            set_log_connected(self.log, self.subscribers.in_flow > 0)

    # ---- control ------------------------------------------------------------------------------

    @property
    def cooling_down(self) -> bool:
        """Whether an image was rejected a short while ago, so that no subscriber may join."""
        return self._cooling_down

    def cool_down_until(self, end_ns: int) -> None:
        """Let no subscriber join before a monotonic time."""
        self._cooling_down = True
        self._cool_down_end_ns = end_ns

    def cool_down_is_over(self, now_ns: int) -> bool:
        """Return whether a cool-down has just ended; True only once for each."""
        if not self._cooling_down or self._cool_down_end_ns - <int64_t> now_ns > 0:
            return False
        self._cooling_down = False
        return True

    def join_position(self) -> int:
        """Return where a new subscriber starts: the lowest of consumer and subscriber positions."""
        cdef int64_t fastest
        cdef int64_t slowest = self.subscribers.lowest(&fastest)
        if slowest < 0:
            return self._consumer_position
        return min(self._consumer_position, slowest)
