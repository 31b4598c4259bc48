"""The module's steady state, which needs no interpreter: ingress to log, and commit positions.

The duty cycle takes messages and signs of life of open sessions out of the ingress. All else it
leaves where it is, in the image, and asks for `control`, whose typed Python goes on from there.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from aerolog.archive.protocol.offsets cimport (
    BLOCK_LENGTH_OFFSET,
    MESSAGE_HEADER_LENGTH,
    SCHEMA_ID_OFFSET,
    TEMPLATE_ID_OFFSET,
)
from aerolog.transport.agents.watch_agent cimport WatchAgent, readers_of
from aerolog.transport.agents.doorbell cimport Doorbell
from aerolog.cluster.protocol.session_header cimport (
    KEEP_ALIVE,
    KEEP_ALIVE_BLOCK,
    SCHEMA_ID,
    SESSION_HEADER_LENGTH,
    SESSION_ID_OFFSET,
    SESSION_MESSAGE,
    SESSION_MESSAGE_BLOCK,
    TERM_ID_OFFSET,
    put_session_header,
)
from aerolog.cluster.session_index cimport SessionIndex
from aerolog.transport.client.image cimport Image
from aerolog.transport.client.liveness cimport Liveness
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.concurrent.atomic cimport (
    get_i64,
    get_u16,
    load_acquire_i64,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.logbuffer.appender cimport ADMIN_ACTION, BACK_PRESSURED, slice_t
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport ACTION_ABORT, ACTION_CONTINUE, LogReader
from aerolog.transport.memory.counter cimport counter_at, counter_is_live, no_counter
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, FLAG_BEGIN

cdef enum:
    NO_IMAGE = -1     # the session takes messages from the image that `bind` names
    OWN = 1           # a message in the image that its session takes messages from
    STRANGE = 2
    UNSETTLED = 3


cdef int take_ingress(void* context, const fragment_t* fragment) noexcept nogil:
    return (<SteadyAgent> context)._on_ingress(<const void*> fragment)


cdef int pass_over(void* context, const fragment_t* fragment) noexcept nogil:
    cdef const uint8_t* message = fragment.frame + DATA_HEADER_LENGTH
    if not fragment.flags & FLAG_BEGIN:
        return ACTION_CONTINUE  # the rest of a message that was passed over
    if (
        fragment.length - DATA_HEADER_LENGTH < SESSION_HEADER_LENGTH
        or get_u16(message + TEMPLATE_ID_OFFSET) != SESSION_MESSAGE
        or get_u16(message + SCHEMA_ID_OFFSET) != SCHEMA_ID
        or get_i64(message + SESSION_ID_OFFSET) < 0
    ):
        return ACTION_ABORT
    return ACTION_CONTINUE


def pass_over_messages(Image image not None, limit: int, until: int) -> int:
    """Pass over the messages of clients in a log, which do not change the module's state.

    Args:
        image: the log's image.
        limit: most frames to pass over.
        until: where to stop, a position in the log.

    Returns:
        How many frames were passed over; the next one, if any, is an event for the module.
    """
    cdef int32_t count = limit
    cdef int64_t end = until
    with nogil:
        count = image.reader.poll_controlled(pass_over, NULL, count, end, False)
    return count


cdef class SteadyAgent(WatchAgent):
    """Writes messages of open sessions into the log and moves the commit position.

    A session takes messages from one image only, so that nobody sends in another client's session.
    It is the image of the connect request. A client follows a new leader with a new publication,
    and its session goes on: in each new term the first message or sign of life of a session is left
    to `control`, which settles by `bind` what is its own. A client that reconnects has a new
    session. An image that is gone never comes back under its id, and neither does a client of UDP
    within a term, since ingress is subscribed without rejoining: its session times out.

    Args:
        role_name: the agent's name.
        doorbell: rung to have `control` called.
        liveness: liveness state of the module's client.
        clock: the clock of the cluster's time.
        time_divisor: nanoseconds of a unit of the cluster's time.
        ingress_limit: most fragments of ingress in a duty cycle.

    Attributes:
        messages: how many messages of clients went into the log.
        strangers: how many messages were dropped that came from another image than their session's.
        last_stranger: the session of the last of them.
        is_log_ended: whether the recording of the log has ended, so that nothing is committed.
    """

    def __init__(
        self,
        str role_name,
        Doorbell doorbell not None,
        Liveness liveness not None,
        Clock clock not None,
        *,
        int64_t time_divisor,
        int32_t ingress_limit,
    ) -> None:
        if time_divisor <= 0:
            raise ValueError(f"time_divisor={time_divisor} must be positive")
        super().__init__(role_name, doorbell, liveness)
        self.clock = clock
        self._time_divisor = time_divisor
        self._ingress_limit = ingress_limit
        self._leadership_term_id = -1

    def __cinit__(self, *_: object, **__: object) -> None:
        self._activity = SessionIndex()
        self._origins = SessionIndex()

    def __dealloc__(self) -> None:
        free(self._ingress_readers)
        free(self._ingress_ids)

    def lead(
        self,
        leadership_term_id: int,
        ExclusivePublication log not None,
        CountersReader counters not None,
        recorded_id: int,
        recorded_registration: int,
        commit_id: int,
    ) -> None:
        """Begin a term as the leader.

        When the counter of the recording is freed, or belongs to another registration,
        `is_log_ended` is set, and nothing is committed or taken out of the ingress any more.

        Args:
            leadership_term_id: the term, which each message must carry.
            log: the log's publication.
            counters: the driver's counters.
            recorded_id: id of the counter that shows how much of the log is recorded.
            recorded_registration: that counter's registration id.
            commit_id: id of the counter of the commit position.
        """
        cdef counter_t recorded = counter_at(counters, recorded_id)
        cdef counter_t commit = counter_at(counters, commit_id)
        if commit.value == NULL:
            raise ValueError(f"no counter {commit_id} of the commit position")
        if recorded.registration_id != recorded_registration:
            recorded = no_counter()
        self._leadership_term_id = leadership_term_id
        self._log_owner = log
        self._log = log.appender
        self._counters = counters
        self._recorded = recorded
        self._commit = commit
        self.is_log_ended = False

    def follow(self) -> None:
        """End the term: nothing is written, and the commit position stays."""
        self._is_taking = self.is_log_ended = False
        self._recorded = self._commit = no_counter()
        self._log = None
        self._log_owner = None

    def take_ingress(self, is_taking: bool) -> None:
        """Set whether messages are taken out of the ingress."""
        self._is_taking = is_taking and self._log is not None and not self.is_log_ended

    def set_ingress(self, tuple images) -> None:
        """Set the images from which messages are taken."""
        cdef Image image
        cdef int32_t index = 0
        cdef void** readers = readers_of(images)
        cdef int64_t* ids = <int64_t*> malloc((len(images) + 1) * sizeof(int64_t))
        if ids == NULL:
            free(readers)
            raise MemoryError()
        for image in images:
            ids[index] = image.correlation_id
            index += 1
        free(self._ingress_readers)
        free(self._ingress_ids)
        self._ingress_readers = readers
        self._ingress_ids = ids
        self._ingress_count = <int32_t> len(images)
        self._ingress_images = images

    def set_sessions(self, list sessions) -> None:
        """Set the open sessions.

        Args:
            sessions: for each its id, the time of its last activity, and the id of the image that
                opened it, -1 when it was opened in an earlier term. Sessions that stay keep their
                time, if it is later, and their image.
        """
        cdef int64_t* known
        cdef list times = []
        cdef list origins = []
        for session_id, last_activity_ns, image_id in sessions:
            known = self._activity.find(session_id)
            if known != NULL and known[0] > last_activity_ns:
                last_activity_ns = known[0]
            times.append((session_id, last_activity_ns))
            known = self._origins.find(session_id)
            origins.append((session_id, image_id if known == NULL else known[0]))
        self._activity.assign(times)
        self._origins.assign(origins)

    def forget_images(self) -> None:
        """Forget from which images sessions take messages, as a new term begins."""
        self._origins.assign([])

    def takes_from(self, session_id: int, image_id: int) -> bool:
        """Return whether an open session takes a message from an image; count it if not.

        Args:
            session_id: the cluster's id of the session.
            image_id: the correlation id of the image.
        """
        if self._whose(session_id, image_id) == OWN:
            return True
        self._count_stranger(session_id)
        return False

    def is_settled(self, session_id: int) -> bool:
        """Return whether it is known from which image a session takes messages in this term."""
        cdef int64_t* origin = self._origins.find(session_id)
        return origin == NULL or origin[0] != NO_IMAGE

    def bind(self, session_id: int, image_id: int) -> None:
        """Set from which image an open session takes messages in this term."""
        cdef int64_t* origin = self._origins.find(session_id)
        if origin != NULL:
            origin[0] = image_id

    def take_left(self) -> bool:
        """Return whether a message was left in the ingress since the last call."""
        left = self._left_before
        self._left_before = False
        return left

    def last_activity_ns(self, session_id: int) -> int:
        """Return when an open session was last heard of, monotonic time; -1 for another session."""
        cdef int64_t* found = self._activity.find(session_id)
        return -1 if found == NULL else found[0]

    def now(self) -> int:
        """Return the cluster's time, in its unit."""
        return self.cluster_time()

    cdef int64_t cluster_time(self) noexcept nogil:
        return self.clock.epoch_ns() // self._time_divisor

    cdef int _leave(self) noexcept nogil:
        self._left = True
        return ACTION_ABORT

    cdef int _whose(self, int64_t session_id, int64_t image_id) noexcept nogil:
        cdef int64_t* origin = self._origins.find(session_id)
        if origin == NULL or origin[0] == image_id:
            return OWN
        return UNSETTLED if origin[0] == NO_IMAGE else STRANGE

    cdef void _count_stranger(self, int64_t session_id) noexcept nogil:
        self.strangers += 1
        self.last_stranger = session_id

    cdef int _on_ingress(self, const void* found) noexcept nogil:
        cdef const fragment_t* fragment = <const fragment_t*> found
        cdef const uint8_t* message = fragment.frame + DATA_HEADER_LENGTH
        cdef int32_t length = fragment.length - DATA_HEADER_LENGTH
        cdef int32_t template_id, block_length
        cdef int whose
        cdef int64_t session_id
        cdef int64_t* activity_ns
        cdef uint8_t header[SESSION_HEADER_LENGTH]
        cdef slice_t parts[2]
        cdef int64_t result
        if length < MESSAGE_HEADER_LENGTH + KEEP_ALIVE_BLOCK:
            return self._leave()
        block_length = get_u16(message + BLOCK_LENGTH_OFFSET)
        template_id = get_u16(message + TEMPLATE_ID_OFFSET)
        if get_u16(message + SCHEMA_ID_OFFSET) != SCHEMA_ID:
            return self._leave()
        if template_id == KEEP_ALIVE:
            if block_length < KEEP_ALIVE_BLOCK:
                return self._leave()
        elif template_id != SESSION_MESSAGE:
            return self._leave()
        elif block_length != SESSION_MESSAGE_BLOCK or length < SESSION_HEADER_LENGTH:
            return self._leave()
        session_id = get_i64(message + SESSION_ID_OFFSET)
        activity_ns = self._activity.find(session_id)
        if activity_ns == NULL or get_i64(message + TERM_ID_OFFSET) != self._leadership_term_id:
            # Of another term, or of a session that is not open: control() passes it over.
            return self._leave()
        whose = self._whose(session_id, self._image_id)
        if whose == UNSETTLED:
            return self._leave()
        if whose == STRANGE:
            self._count_stranger(session_id)
            return ACTION_CONTINUE
        if template_id == SESSION_MESSAGE:
            put_session_header(header, self._leadership_term_id, session_id, self.cluster_time())
            parts[0].address = header
            parts[0].length = SESSION_HEADER_LENGTH
            parts[1].address = message + SESSION_HEADER_LENGTH
            parts[1].length = length - SESSION_HEADER_LENGTH
            result = self._log.append_slices(parts, 2, NULL)
            if result <= 0:
                if result != BACK_PRESSURED and result != ADMIN_ACTION:
                    self._left = True
                return ACTION_ABORT
            self.messages += 1
        activity_ns[0] = self._now_ns
        return ACTION_CONTINUE

    cdef int32_t _take(self) noexcept nogil:
        cdef int32_t index, at
        cdef int32_t taken = 0
        if not self._is_taking or self._left or self._ingress_count == 0:
            return 0
        self._first_ingress = (self._first_ingress + 1) % self._ingress_count
        for index in range(self._ingress_count):
            at = (self._first_ingress + index) % self._ingress_count
            self._image_id = self._ingress_ids[at]
            taken += (<LogReader> self._ingress_readers[at]).poll_controlled(
                take_ingress, <void*> self, self._ingress_limit - taken, INT64_MAX, True
            )
            if self._left or taken >= self._ingress_limit:
                break
        return taken

    cdef int _commit_recorded(self) noexcept nogil:
        cdef int64_t recorded = 0
        if self._log is None or self.is_log_ended:
            return 0
        if self._recorded.value != NULL:
            recorded = load_acquire_i64(self._recorded.value)
        if not counter_is_live(&self._recorded):
            self.is_log_ended = True
            self._is_taking = False
            self.control_due = True
            return 1
        if not counter_is_live(&self._commit):
            return 0  # the client has ended, as its liveness check will show
        if recorded <= load_acquire_i64(self._commit.value):
            return 0
        store_release_i64(self._commit.value, recorded)
        return 1

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int work
        self._now_ns = now_ns
        work = self._take() + self._commit_recorded()
        work += WatchAgent.duty_cycle(self, now_ns)
        if self._left:
            self._left = False
            self._left_before = True
            self.control_due = True
        return work
