"""Reads the log for a service: messages up to the commit position (spec cluster 10, 11).

All that costs time with each message is here. Messages go to a native service without the
interpreter, and to one in Python one by one or in batches; all other events go to `on_event`.
"""

from cpython.ref cimport Py_REFCNT
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.archive.protocol.offsets cimport (
    BLOCK_LENGTH_OFFSET,
    MESSAGE_HEADER_LENGTH,
    SCHEMA_ID_OFFSET,
    TEMPLATE_ID_OFFSET,
)
from aerolog.cluster.message_columns cimport entry_t
from aerolog.cluster.protocol.session_header cimport (
    SCHEMA_ID,
    SESSION_HEADER_LENGTH,
    SESSION_ID_OFFSET,
    SESSION_MESSAGE,
    SESSION_MESSAGE_BLOCK,
    TERM_ID_OFFSET,
    TIMESTAMP_OFFSET,
)
from aerolog.cluster.service.client_session cimport ClientSession
from aerolog.cluster.service.event_agent cimport EventAgent
from aerolog.cluster.service.message_batch cimport MessageBatch
from aerolog.cluster.service.native_service cimport MESSAGE_LEFT, MESSAGE_TAKEN, NativeService
from aerolog.cluster.session_index cimport SessionIndex
from aerolog.transport.client.image cimport Image, release_view
from aerolog.transport.concurrent.atomic cimport get_i64, get_u16, load_acquire_i64
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport (
    ACTION_ABORT,
    ACTION_BREAK,
    ACTION_CONTINUE,
)
from aerolog.transport.memory.counter cimport counter_at, counter_is_live, no_counter
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

from aerolog.transport.concurrent.agent_runner import AgentTerminated

cdef enum:
    CONTROL_INTERVAL_NS = 1_000_000


cdef int take_fragment(void* context, const fragment_t* fragment) noexcept nogil:
    return (<LogAgent> context)._on_fragment(fragment)


cdef class LogAgent(EventAgent):
    """Hands the log to a service.

    Args:
        role_name: the agent's name.
        service: a ClusteredService, which may be a NativeService as well.
        limit: most fragments of the log in a duty cycle.

    Attributes:
        sessions: the open sessions by their ids.
        has_batches: whether the service takes messages in batches.
        log_image: the log's image; None while no log is read.
        log_end: a position behind which nothing is read.
    """

    def __cinit__(self, *_: object, **__: object) -> None:
        self.sessions = {}
        self._index = SessionIndex()

    def __init__(self, role_name: str, service: object, limit: int) -> None:
        super().__init__(role_name)
        self._limit = limit
        self._native = service if isinstance(service, NativeService) else None
        on_messages = getattr(service, "on_session_messages", None)
        self.has_batches = on_messages is not None and self._native is None
        self._on_message = on_messages if self.has_batches else service.on_session_message

    # -- sessions --------------------------------------------------------------------------------

    def put_session(self, ClientSession session not None) -> None:
        """Add an open session."""
        self.sessions[session.session_id] = session
        self._share_sessions()

    def remove_session(self, session_id: int) -> ClientSession | None:
        """Remove a session, and return it; None for one that is not open."""
        session = self.sessions.pop(session_id, None)
        self._share_sessions()
        return session

    def clear_sessions(self) -> None:
        """Remove all sessions."""
        self._index.assign([])
        self.sessions.clear()

    def _share_sessions(self) -> None:
        if self._native is not None:
            self._index.assign(
                [(session_id, <int64_t> <void*> each) for session_id, each in self.sessions.items()]
            )

    # -- the log ---------------------------------------------------------------------------------

    def follow_commits(
        self, CountersReader counters not None, counter_id: int, registration_id: int
    ) -> bool:
        """Set the counter of the commit position, up to which the log is read.

        Returns:
            Whether the counter is there. Nothing is read once it is not: see `is_committing`.
        """
        self._commit_owner = counters
        self._commit = counter_at(counters, counter_id)
        if self._commit.registration_id != registration_id:
            self._commit = no_counter()
        return self.is_committing

    @property
    def is_committing(self) -> bool:
        """Whether the module has the counter of its commit position: it is gone without."""
        return counter_is_live(&self._commit)

    def join_image(self, Image image not None, end: int) -> None:
        """Begin to read the log.

        Args:
            image: the log's image.
            end: a position behind which nothing is read.
        """
        if self._commit.value == NULL:
            raise ValueError("no commit position")
        self.log_image = image
        self.log_end = end
        self._reader = image.reader

    def end_log_at(self, position: int) -> None:
        """Read the log no further than to a position, where the next log begins."""
        self.log_end = min(self.log_end, position)

    def leave_image(self) -> None:
        """End to read the log."""
        self._reader = None
        self.log_image = None

    def poll_log(self) -> int:
        """Hand over what is committed, which needs the interpreter.

        Returns:
            A number of fragments.

        Raises:
            AgentTerminated: the service raised something in a batch. How much of a batch is done
                then differs from member to member, so that the service cannot go on.
            Exception: the service's own. The next call goes on behind the message.
        """
        cdef int32_t count
        if self._reader is None:
            return 0
        self._in_control = True
        try:
            count = self._poll()
            self.end_batch()
        finally:
            self._in_control = False
            error, self._error = self._error, None
        if error is not None:
            raise error
        return count

    def on_event(self, data: bytes, position: int) -> None:
        """Process an event of the log that is no message; for the agent that extends this one."""

    def end_batch(self) -> None:
        """Hand the batch to the service, as every event that is no message has to."""
        if self._batch is None:
            return
        batch, self._batch = self._batch, None
        self.in_batch = True
        try:
            self._on_message(batch)
        except Exception as error:
            raise AgentTerminated(
                f"a batch of {len(batch)} messages up to position {self.log_position} failed:"
                f" {error}"
            ) from error
        finally:
            self.in_batch = False

    # -- the duty cycle --------------------------------------------------------------------------

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int work = 0
        self.now_ns = now_ns
        if self._native is not None and self._reader is not None:
            work = self._poll()
            if not self._left and now_ns < self._next_control_ns:
                return work
            self._left = False
            self._next_control_ns = now_ns + CONTROL_INTERVAL_NS
        self.control_due = True
        return work

    cdef int32_t _poll(self) noexcept nogil:
        cdef int64_t committed = load_acquire_i64(self._commit.value)
        if not counter_is_live(&self._commit):
            return 0  # the module is gone, and the value may be another counter's
        return self._reader.poll_controlled(
            take_fragment, <void*> self, self._limit, min(committed, self.log_end), True
        )

    cdef int _on_fragment(self, const fragment_t* fragment) noexcept nogil:
        cdef const uint8_t* message = fragment.frame + DATA_HEADER_LENGTH
        cdef int32_t length = fragment.length - DATA_HEADER_LENGTH
        cdef int32_t skipped
        cdef int64_t session_id, timestamp, before
        cdef int64_t* found
        cdef int answer
        if (
            length < SESSION_HEADER_LENGTH
            or get_u16(message + TEMPLATE_ID_OFFSET) != SESSION_MESSAGE
            or get_u16(message + SCHEMA_ID_OFFSET) != SCHEMA_ID
            or get_u16(message + BLOCK_LENGTH_OFFSET) < SESSION_MESSAGE_BLOCK
        ):
            if self._in_control:
                return self._to_control(fragment)
            self._left = True
            return ACTION_ABORT
        skipped = MESSAGE_HEADER_LENGTH + get_u16(message + BLOCK_LENGTH_OFFSET)
        if skipped > length:
            skipped = length
        session_id = get_i64(message + SESSION_ID_OFFSET)
        timestamp = get_i64(message + TIMESTAMP_OFFSET)
        if self._native is None:
            return self._to_python(fragment, skipped, session_id, timestamp)
        before = self.log_position
        self.log_position = fragment.position
        self.time = timestamp
        found = self._index.find(session_id)
        if found == NULL:
            answer = self._native.on_message(
                None, timestamp, message + skipped, length - skipped
            )
        else:
            answer = self._native.on_message(
                <ClientSession> <void*> found[0], timestamp, message + skipped, length - skipped
            )
        if answer == MESSAGE_TAKEN:
            return ACTION_CONTINUE
        if answer == MESSAGE_LEFT:
            if self._in_control:
                return self._to_python(fragment, skipped, session_id, timestamp)
            self._left = True
        self.log_position = before
        return ACTION_ABORT

    cdef int _to_python(
        self, const fragment_t* fragment, int32_t skipped, int64_t session_id, int64_t timestamp
    ) noexcept with gil:
        try:
            self._hand_over(fragment, skipped, session_id, timestamp)
        except BaseException as error:
            self._error = error
            return ACTION_BREAK
        return ACTION_CONTINUE

    cdef int _hand_over(
        self, const fragment_t* fragment, int32_t skipped, int64_t session_id, int64_t timestamp
    ) except -1:
        cdef object session = self.sessions.get(session_id)
        cdef object view
        cdef entry_t entry
        self.log_position = fragment.position
        self.time = timestamp
        if self.has_batches:
            if self._batch is None:
                self._batch = MessageBatch()
            entry.session_id = session_id
            entry.term_id = get_i64(fragment.frame + DATA_HEADER_LENGTH + TERM_ID_OFFSET)
            entry.timestamp = timestamp
            entry.position = fragment.position
            self._batch.add(
                session,
                &entry,
                fragment.frame + DATA_HEADER_LENGTH + skipped,
                fragment.length - DATA_HEADER_LENGTH - skipped,
            )
            return 0
        view = self.log_image.begin_view(fragment, skipped)
        try:
            self._on_message(session, timestamp, view)
        finally:
            if Py_REFCNT(view) > 1:
                release_view(view)
            view = None
            self.log_image.end_view(fragment)
        return 0

    cdef int _to_control(self, const fragment_t* fragment) noexcept with gil:
        cdef const uint8_t* message = fragment.frame + DATA_HEADER_LENGTH
        try:
            self.end_batch()
            self.on_event(
                message[: fragment.length - DATA_HEADER_LENGTH], fragment.position
            )
        except BaseException as error:
            self._error = error
            return ACTION_BREAK
        return ACTION_CONTINUE
