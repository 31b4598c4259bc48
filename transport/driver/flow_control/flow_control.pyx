"""Flow control strategies (spec wire-protocol 6): native ones, and one that calls Python.

A strategy depends on positions and times only. The Python methods do the same as the native ones:
they are for tests and the simulator, and are the interface that a strategy written in Python
overrides (see PythonFlowControl).
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.events.event_log cimport StreamEvents
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport (
    ERROR_FLAG_GROUP_TAG,
    STATUS_FLAG_EOS,
    error_t,
    status_message_t,
)

from aerolog.transport.errors import ConfigurationError

cdef enum:
    TAG_LENGTH = 8
    SHORT_TAG_LENGTH = 4
    FIRST_CAPACITY = 8

# What a retransmission is measured in: the reference's default window, whatever is configured.
cdef int32_t _ESTIMATED_WINDOW = 128 * 1024
cdef int32_t _MIN_TERM_LENGTH = 64 * 1024
cdef int32_t _MAX_TERM_LENGTH = 1024 * 1024 * 1024
cdef int64_t _NO_SETUP_LIMIT = -1


def _checked(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"{what} must be in {low}..{high}: {value}")
    return value


cdef int _fill_status(
    status_message_t* message, object receiver_id, object window, object flags, bytes extension
) except -1:
    cdef const char* source = extension
    message.flags = flags
    message.session_id = 0
    message.stream_id = 0
    message.term_id = 0
    message.term_offset = 0
    message.window = window
    message.receiver_id = receiver_id
    message.extension_length = len(extension)
    message.group_tag = 0
    memcpy(&message.group_tag, source, min(len(extension), TAG_LENGTH))
    return 0


cdef bytes _extension(const status_message_t* message):
    return (<const char*> &message.group_tag)[:max(0, min(message.extension_length, TAG_LENGTH))]


cdef class FlowControl:
    """Base of all strategies; it never moves the limit.

    Args:
        term_length: the length of the stream's terms in bytes.
        retransmit_window_multiple: windows that one retransmission may be long (``rrwm``).

    Raises:
        ConfigurationError: an argument is out of range.
    """

    def __init__(self, term_length: int, *, retransmit_window_multiple: int = 16) -> None:
        self.term_length = _checked("term length", term_length, _MIN_TERM_LENGTH, _MAX_TERM_LENGTH)
        self.retransmit_window_multiple = _checked(
            "retransmit receiver window multiple", retransmit_window_multiple, 1, 2**31 - 1
        )

    cdef int64_t on_status_message(
        self, const status_message_t* message, int64_t position, int64_t limit, int64_t now_ns
    ) noexcept nogil:
        return limit

    cdef int64_t on_setup(self, int64_t limit, int64_t now_ns) noexcept nogil:
        return limit

    cdef int64_t on_idle(self, int64_t limit, int64_t now_ns) noexcept nogil:
        return limit

    cdef void on_trigger_send_setup(
        self, const status_message_t* message, int64_t now_ns
    ) noexcept nogil:
        pass

    cdef void on_error(self, const error_t* error, int64_t now_ns) noexcept nogil:
        pass

    cdef bint has_required_receivers(self) noexcept nogil:
        return True

    cdef int32_t receiver_count(self) noexcept nogil:
        return 0

    cdef int32_t max_retransmit_length(self, int32_t term_offset, int32_t length) noexcept nogil:
        cdef int64_t estimate = min(_ESTIMATED_WINDOW, self.term_length // 2)
        estimate *= self.retransmit_window_multiple
        return <int32_t> max(0, min(estimate, length, self.term_length - term_offset))

    def status_message(
        self,
        receiver_id: int,
        position: int,
        window: int,
        limit: int,
        now_ns: int,
        flags: int = 0,
        extension: bytes = b"",
    ) -> int:
        """Handle a status message: a receiver reports its position and its window.

        Args:
            receiver_id: signed, 64 bits; chosen by the receiver.
            position: the position up to which it has consumed the stream.
            window: the room after that position in bytes.
            limit: the position up to which the sender may send so far.
            now_ns: the time of the driver's nano clock.
            flags: the flags of the frame; 0x40 says that the receiver leaves.
            extension: the bytes after the frame's fixed part; 8 bytes are a group tag.

        Returns:
            The new limit.
        """
        cdef status_message_t message
        _fill_status(&message, receiver_id, window, flags, extension)
        return self.on_status_message(&message, position, limit, now_ns)

    def setup(self, limit: int, now_ns: int) -> int:
        """Note that a requested SETUP is about to be sent; return the new limit."""
        return self.on_setup(limit, now_ns)

    def idle(self, limit: int, now_ns: int) -> int:
        """Note a duty cycle in which nothing was sent; return the new limit, which may be lower."""
        return self.on_idle(limit, now_ns)

    def trigger_send_setup(self, receiver_id: int, now_ns: int, extension: bytes = b"") -> None:
        """Note that a receiver requests a SETUP."""
        cdef status_message_t message
        _fill_status(&message, receiver_id, 0, 0, extension)
        self.on_trigger_send_setup(&message, now_ns)

    def receiver_error(self, receiver_id: int, now_ns: int, group_tag: int | None = None) -> None:
        """Note that a receiver has rejected the stream, with its group tag if it has one."""
        cdef error_t frame
        frame.flags = 0 if group_tag is None else ERROR_FLAG_GROUP_TAG
        frame.session_id = 0
        frame.stream_id = 0
        frame.receiver_id = receiver_id
        frame.group_tag = 0 if group_tag is None else group_tag
        frame.code = 0
        frame.text = NULL
        frame.text_length = 0
        self.on_error(&frame, now_ns)

    def retransmit_length(self, term_offset: int, length: int) -> int:
        """Return how many bytes of a retransmission request to send again (6.5)."""
        return self.max_retransmit_length(
            _checked("term offset", term_offset, 0, self.term_length),
            _checked("length", length, 0, 2**31 - 1),
        )

    @property
    def required_receivers_present(self) -> bool:
        """Whether enough receivers are known for the publication to count as connected."""
        return self.has_required_receivers()

    @property
    def receivers(self) -> int:
        """The number of tracked receivers; 0 for a strategy that tracks none."""
        return self.receiver_count()


cdef class MaxFlowControl(FlowControl):
    """Follows the fastest receiver, for unicast and for multicast ``max`` (6.1)."""

    cdef int64_t on_status_message(
        self, const status_message_t* message, int64_t position, int64_t limit, int64_t now_ns
    ) noexcept nogil:
        return max(limit, position + message.window)


cdef class MinFlowControl(FlowControl):
    """Follows the slowest receiver (6.2, 6.3).

    Args:
        term_length: the length of the stream's terms in bytes.
        receiver_timeout_ns: a receiver that is silent for longer is forgotten.
        group_min_size: the receivers that the publication needs to count as connected.
        retransmit_window_multiple: windows that one retransmission may be long.

    Raises:
        ConfigurationError: an argument is out of range.
    """

    def __cinit__(self, *args: object, **options: object) -> None:
        self._setup_limit = _NO_SETUP_LIMIT

    def __init__(
        self,
        term_length: int,
        *,
        receiver_timeout_ns: int = 5_000_000_000,
        group_min_size: int = 0,
        retransmit_window_multiple: int = 4,
    ) -> None:
        FlowControl.__init__(
            self, term_length, retransmit_window_multiple=retransmit_window_multiple
        )
        self.receiver_timeout_ns = _checked(
            "receiver timeout in ns", receiver_timeout_ns, 0, INT64_MAX
        )
        self.group_min_size = _checked("group min size", group_min_size, -(2**31), 2**31 - 1)

    def __dealloc__(self) -> None:
        free(self._receivers)

    def bind_counter(self, counters: CountersReader, counter_id: int) -> None:
        """Show the number of receivers in the counter ``fc-receivers``.

        Raises:
            ConfigurationError: the counter id does not exist.
        """
        cdef CountersReader reader = counters
        cdef int64_t* value = reader.value_address(counter_id)
        if value == NULL:
            raise ConfigurationError(f"no counter has the id {counter_id}")
        self._counters = reader
        self._counter = value
        store_release_i64(value, self._count)

    def bind_events(self, events: StreamEvents) -> None:
        """Log every receiver that joins or leaves."""
        self._events = events

    cdef bint _matches(self, const status_message_t* message) noexcept nogil:
        return True

    cdef bint _matches_error(self, const error_t* error) noexcept nogil:
        return True

    cdef void _publish_count(self, int32_t count) noexcept nogil:
        store_release_i32(&self._count, count)
        if self._counter != NULL:
            store_release_i64(self._counter, count)

    cdef bint _is_older(self, int64_t time_ns, int64_t now_ns) noexcept nogil:
        # A time ahead of now (another thread's reading) counts as no age at all.
        return now_ns > time_ns and now_ns - time_ns > self.receiver_timeout_ns

    cdef int64_t _limit_of_setup(self, int64_t now_ns) noexcept nogil:
        if self._setup_limit != _NO_SETUP_LIMIT:
            if not self._is_older(self._time_of_setup_ns, now_ns):
                return self._setup_limit
            self._setup_limit = _NO_SETUP_LIMIT
        return INT64_MAX

    cdef bint _add(
        self, const status_message_t* message, int64_t position, int64_t edge, int64_t now_ns
    ) noexcept nogil:
        cdef receiver_t* added
        cdef int32_t capacity
        if self._count == self._capacity:
            # A receiver joins: this is the only moment at which more memory may be needed.
            capacity = min(max(2 * self._capacity, FIRST_CAPACITY), MAX_RECEIVERS)
            if capacity == self._capacity:
                return False
            added = <receiver_t*> realloc(self._receivers, capacity * sizeof(receiver_t))
            if added == NULL:
                return False
            self._receivers = added
            self._capacity = capacity
        added = &self._receivers[self._count]
        added.receiver_id = message.receiver_id
        added.last_position = position
        added.last_edge = edge
        added.time_of_last_status_ns = now_ns
        added.end_of_stream = False
        self._publish_count(self._count + 1)
        if self._events is not None:
            self._events.receiver_added(message.receiver_id, self._count)
        return True

    cdef int64_t on_status_message(
        self, const status_message_t* message, int64_t position, int64_t limit, int64_t now_ns
    ) noexcept nogil:
        cdef int64_t edge = position + message.window
        cdef int64_t lowest = self._limit_of_setup(now_ns)
        cdef bint leaving = message.flags & STATUS_FLAG_EOS != 0
        cdef bint matches = self._matches(message)
        cdef bint known = False
        cdef receiver_t* receiver
        cdef int32_t i
        for i in range(self._count):
            receiver = &self._receivers[i]
            if matches and receiver.receiver_id == message.receiver_id:
                receiver.end_of_stream = leaving
                receiver.last_position = max(position, receiver.last_position)
                receiver.last_edge = edge
                receiver.time_of_last_status_ns = now_ns
                known = True
            lowest = min(lowest, receiver.last_edge)
        # A new receiver more than a window behind is not admitted, because it would stall the rest.
        if (
            not known and matches and not leaving
            and (self._count == 0 or edge >= lowest - message.window)
            and self._add(message, position, edge, now_ns)
        ):
            lowest = min(lowest, edge)
            self._setup_limit = _NO_SETUP_LIMIT
        if self._count < self.group_min_size:
            return limit
        if self._count == 0:
            return max(limit, edge)
        return max(limit, lowest)

    cdef int64_t on_idle(self, int64_t limit, int64_t now_ns) noexcept nogil:
        cdef int64_t lowest = self._limit_of_setup(now_ns)
        cdef int32_t count = self._count
        cdef int32_t i = 0
        cdef receiver_t* receiver
        while i < count:
            receiver = &self._receivers[i]
            if receiver.end_of_stream or self._is_older(receiver.time_of_last_status_ns, now_ns):
                count -= 1
                if self._events is not None:
                    self._events.receiver_removed(receiver.receiver_id, count)
                receiver[0] = self._receivers[count]
            else:
                lowest = min(lowest, receiver.last_edge)
                i += 1
        if count != self._count:
            self._publish_count(count)
        if count == 0 or count < self.group_min_size:
            return limit
        return lowest

    cdef int64_t on_setup(self, int64_t limit, int64_t now_ns) noexcept nogil:
        if self._setup_was_triggered:
            self._setup_was_triggered = False
            if self._count > 0:
                self._time_of_setup_ns = now_ns
                self._setup_limit = limit
        return limit

    cdef void on_trigger_send_setup(
        self, const status_message_t* message, int64_t now_ns
    ) noexcept nogil:
        if self._matches(message):
            self._setup_was_triggered = True

    cdef void on_error(self, const error_t* error, int64_t now_ns) noexcept nogil:
        cdef int32_t i
        if not self._matches_error(error):
            return
        for i in range(self._count):
            if self._receivers[i].receiver_id == error.receiver_id:
                self._receivers[i].end_of_stream = True

    cdef bint has_required_receivers(self) noexcept nogil:
        return self.receiver_count() >= self.group_min_size

    cdef int32_t receiver_count(self) noexcept nogil:
        return load_acquire_i32(&self._count)


cdef class TaggedFlowControl(MinFlowControl):
    """Follows the slowest receiver that has the group tag (6.3, 6.4).

    Args:
        group_tag: the tag that receivers must have, signed, 64 bits.
        short_tag: the first bytes, signed, 32 bits, of any extension that is not 8 bytes long, as
            receivers send that are older than group tags.
    """

    def __init__(
        self,
        term_length: int,
        *,
        group_tag: int = -1,
        short_tag: int = -1,
        receiver_timeout_ns: int = 5_000_000_000,
        group_min_size: int = 0,
        retransmit_window_multiple: int = 4,
    ) -> None:
        MinFlowControl.__init__(
            self,
            term_length,
            receiver_timeout_ns=receiver_timeout_ns,
            group_min_size=group_min_size,
            retransmit_window_multiple=retransmit_window_multiple,
        )
        self.group_tag = _checked("group tag", group_tag, -(2**63), 2**63 - 1)
        self.short_tag = _checked("short group tag", short_tag, -(2**31), 2**31 - 1)

    cdef bint _matches(self, const status_message_t* message) noexcept nogil:
        cdef int32_t start
        if message.extension_length == TAG_LENGTH:
            return message.group_tag == self.group_tag
        if message.extension_length < SHORT_TAG_LENGTH:
            return False
        memcpy(&start, &message.group_tag, SHORT_TAG_LENGTH)
        return start == self.short_tag

    cdef bint _matches_error(self, const error_t* error) noexcept nogil:
        return error.flags & ERROR_FLAG_GROUP_TAG != 0 and error.group_tag == self.group_tag


cdef class PythonFlowControl(FlowControl):
    """A strategy written in Python: subclass it and override what should differ.

    The methods to override are ``status_message``, ``setup``, ``idle`` (each returns the new
    limit), ``trigger_send_setup`` and ``receiver_error``. As they stand, ``status_message`` raises
    the limit to the fastest receiver's window and the others change nothing. They run on the
    sender's thread, which takes the GIL for each: ``idle`` in every duty cycle that sends nothing,
    if it is overridden. Set ``receivers`` and ``required_receivers_present``, which other threads
    read.

    When a method raises, or returns something other than a 64-bit integer, the limit stays
    and the error is kept in ``error``.
    """

    def __cinit__(self, *args: object, **options: object) -> None:
        self._connectable = True
        self._overrides_idle = type(self).idle is not PythonFlowControl.idle

    @property
    def receivers(self) -> int:
        """The number of tracked receivers; set it when it changes."""
        return load_acquire_i32(&self._count)

    @receivers.setter
    def receivers(self, count: int) -> None:
        store_release_i32(&self._count, _checked("receivers", count, 0, 2**31 - 1))

    @property
    def required_receivers_present(self) -> bool:
        """Whether the publication may count as connected; set it when it changes."""
        return load_acquire_i32(&self._connectable) != 0

    @required_receivers_present.setter
    def required_receivers_present(self, present: bool) -> None:
        store_release_i32(&self._connectable, 1 if present else 0)

    cdef bint has_required_receivers(self) noexcept nogil:
        return load_acquire_i32(&self._connectable) != 0

    cdef int32_t receiver_count(self) noexcept nogil:
        return load_acquire_i32(&self._count)

    cdef void _keep(self, object error):
        if self.error is None:
            self.error = error

    def take_error(self) -> BaseException | None:
        """Return the first failure since the last call, and forget it."""
        error, self.error = self.error, None
        return error

    cdef int64_t on_status_message(
        self, const status_message_t* message, int64_t position, int64_t limit, int64_t now_ns
    ) noexcept nogil:
        cdef int64_t result = limit
        with gil:
            try:
                result = self.status_message(
                    message.receiver_id,
                    position,
                    message.window,
                    limit,
                    now_ns,
                    message.flags,
                    _extension(message),
                )
            except BaseException as error:
                self._keep(error)
        return result

    cdef int64_t on_setup(self, int64_t limit, int64_t now_ns) noexcept nogil:
        cdef int64_t result = limit
        with gil:
            try:
                result = self.setup(limit, now_ns)
            except BaseException as error:
                self._keep(error)
        return result

    cdef int64_t on_idle(self, int64_t limit, int64_t now_ns) noexcept nogil:
        cdef int64_t result = limit
        if self._overrides_idle:
            with gil:
                try:
                    result = self.idle(limit, now_ns)
                except BaseException as error:
                    self._keep(error)
        return result

    cdef void on_trigger_send_setup(
        self, const status_message_t* message, int64_t now_ns
    ) noexcept nogil:
        with gil:
            try:
                self.trigger_send_setup(message.receiver_id, now_ns, _extension(message))
            except BaseException as error:
                self._keep(error)

    cdef void on_error(self, const error_t* error, int64_t now_ns) noexcept nogil:
        with gil:
            try:
                tagged = error.flags & ERROR_FLAG_GROUP_TAG
                self.receiver_error(error.receiver_id, now_ns, error.group_tag if tagged else None)
            except BaseException as failure:
                self._keep(failure)

    def status_message(
        self,
        receiver_id: int,
        position: int,
        window: int,
        limit: int,
        now_ns: int,
        flags: int = 0,
        extension: bytes = b"",
    ) -> int:
        """Handle a receiver's position and window; return the new limit. See FlowControl."""
        return max(limit, position + window)

    def setup(self, limit: int, now_ns: int) -> int:
        """Note that a requested SETUP is about to be sent; return the new limit."""
        return limit

    def idle(self, limit: int, now_ns: int) -> int:
        """Note a duty cycle in which nothing was sent; return the new limit, which may be lower."""
        return limit

    def trigger_send_setup(self, receiver_id: int, now_ns: int, extension: bytes = b"") -> None:
        """Note that a receiver requests a SETUP."""

    def receiver_error(self, receiver_id: int, now_ns: int, group_tag: int | None = None) -> None:
        """Note that a receiver has rejected the stream."""
