"""The native part of an archive's conductor and of a consensus module, which looks for work.

There is work when another agent rang the doorbell, when the driver sent a message or the client's
liveness check failed, when a watched image has a fragment, or when a deadline has passed. An idle
component therefore runs the interpreter only at its deadlines.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from aerolog.transport.agents.doorbell cimport Doorbell
from aerolog.transport.client.image cimport Image
from aerolog.transport.client.liveness cimport LIVENESS_QUIET, Liveness
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.logbuffer.log_reader cimport LogReader, block_t

cdef extern from "sched.h" nogil:
    int sched_yield() noexcept

cdef extern from *:
    """
    #if defined(__linux__)
    #include <sys/prctl.h>
    static void aerolog_set_timer_slack(unsigned long slack_ns)
    {
        prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
    }
    #else
    static void aerolog_set_timer_slack(unsigned long slack_ns) { (void)slack_ns; }
    #endif
    """
    void set_slack "aerolog_set_timer_slack" (unsigned long slack_ns) noexcept nogil

cdef enum:
    CHECK_INTERVAL_NS = 500_000
    LINGER_NS = 60_000    # after a request: the next one of a client that waits comes within it
    TIMER_SLACK_NS = 1_000
    PEEK_LENGTH = 1 << 30


cdef void** readers_of(tuple images) except NULL:
    cdef Image image
    cdef int32_t index = 0
    cdef void** readers = <void**> malloc((len(images) + 1) * sizeof(void*))
    if readers == NULL:
        raise MemoryError()
    for image in images:
        readers[index] = <void*> image.reader
        index += 1
    return readers


cdef class WatchAgent(Agent):
    """Calls control() when there is something to do.

    Args:
        role_name: the agent's name.
        doorbell: rung by the component's other agents.
        liveness: liveness state of the component's client, which control() runs.

    Attributes:
        mark_beat: gives the signs of life in a mark file; None for none.
    """

    def __init__(
        self, str role_name, Doorbell doorbell not None, Liveness liveness not None
    ) -> None:
        super().__init__(role_name)
        self.doorbell = doorbell
        self.liveness = liveness
        self._images = ()

    def __dealloc__(self) -> None:
        free(self._readers)

    def prepare_thread(self) -> None:
        """Let the calling thread, which runs this agent alone, answer clients without delay.

        By default Linux extends each wait by up to 50 us. The agent waits for a client's next
        request with parks of 1 us, so that extension would be most of an answer's time. For a while
        after a request the agent reports work, so that its thread is not asleep when a client that
        waits for each answer sends the next one.
        """
        set_slack(TIMER_SLACK_NS)
        self._linger_ns = LINGER_NS

    def watch(self, tuple images, deadline_ns: int) -> None:
        """Set what to check until the next control(): images, and a time."""
        cdef void** readers = readers_of(images)
        free(self._readers)
        self._readers = readers
        self._reader_count = <int32_t> len(images)
        self._images = images
        self.deadline_ns = deadline_ns

    def turn_client(self, conductor: object) -> int:
        """Run the duty cycle of the agent's client, or end it after a failed liveness check.

        Args:
            conductor: the client's conductor.

        Returns:
            A work count.
        """
        if self.fatal_code < 0:
            with conductor.lock:
                conductor.end_for(self.fatal_code)
            return 1
        return conductor.do_work()

    def take_bell(self) -> bool:
        """Return whether the bell was rung since the last call."""
        return self.doorbell is not None and self.doorbell.take()

    cdef bint _has_request(self) noexcept nogil:
        cdef block_t block
        cdef int32_t index
        for index in range(self._reader_count):
            if (<LogReader> self._readers[index]).block(PEEK_LENGTH, &block) > 0:
                return True
        return False

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int code
        if self.mark_beat is not None:
            self.mark_beat.beat(now_ns)
        if now_ns >= self._next_check_ns:
            self._next_check_ns = now_ns + CHECK_INTERVAL_NS
            code = self.liveness.check(now_ns)
            if code != LIVENESS_QUIET:
                self.control_due = True
            if code < 0:
                # The liveness check reports this once; control() ends the client.
                self.fatal_code = code
        if self._has_request():
            self._asked_ns = now_ns
            self.control_due = True
        elif now_ns >= self.deadline_ns or self.doorbell.is_rung():
            self.control_due = True
        if now_ns - self._asked_ns >= self._linger_ns:
            return 0
        if not self.control_due:
            sched_yield()  # lets a client on this processor run
        return 1
