"""Publications: the writing end of a stream, for Python.

Spec client 8 and 9, spec log-buffers 8 to 12.

The appender writes the log. A publication takes any buffer as a message and answers with a position
or an ``OfferStatus``; it raises errors only where a retry cannot succeed. Small messages are copied
with the GIL held, large ones and batches without it.
"""

import warnings

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from aerolog.transport.client.arrow cimport append_arrow
from aerolog.transport.client.batch_offers cimport append_parts, append_rows, append_sequence
from aerolog.transport.client.claim cimport new_claim
from aerolog.transport.client.liveness cimport fork_generation
from aerolog.transport.client.reserved_value cimport (
    prepare_reserved,
    raise_reserved,
    reserved_call_t,
)
from aerolog.transport.logbuffer.appender cimport (
    ADMIN_ACTION,
    BACK_PRESSURED,
    BAD_BLOCK,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    TOO_LONG,
    Appender,
    concurrent_appender,
    exclusive_appender,
    reserved_t,
)
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_is_connected
from aerolog.transport.memory.buffers cimport get_plain_buffer
from aerolog.transport.memory.counter cimport counter_of, counter_t
from aerolog.transport.memory.counters cimport CountersReader

from aerolog.transport.client.channel_counters import channel_status, local_addresses
from aerolog.transport.client.destination import Destination
from aerolog.transport.client.options import log_change
from aerolog.transport.client.send_retry import raise_closed, send_waiting
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import (
    ConcurrentUseError,
    MessageFormatError,
    MessageTooLargeError,
)

# Copying this much takes longer than giving the GIL away and taking it again.
cdef enum:
    NOGIL_LENGTH = 32768

cdef object _NOT_CONNECTED = OfferStatus.NOT_CONNECTED
cdef object _BACK_PRESSURED = OfferStatus.BACK_PRESSURED
cdef object _ADMIN_ACTION = OfferStatus.ADMIN_ACTION
cdef object _CLOSED = OfferStatus.CLOSED
cdef object _MAX_POSITION_EXCEEDED = OfferStatus.MAX_POSITION_EXCEEDED


cdef object _status(int64_t result):
    """A position, or the member for a refusal."""
    if result >= 0:
        return result
    if result == BACK_PRESSURED:
        return _BACK_PRESSURED
    if result == ADMIN_ACTION:
        return _ADMIN_ACTION
    if result == NOT_CONNECTED:
        return _NOT_CONNECTED
    if result == MAX_POSITION_EXCEEDED:
        return _MAX_POSITION_EXCEEDED
    return _CLOSED


cdef class BasePublication:
    """The base of shared and exclusive publications, which ``Aeron`` makes.

    A closed publication answers OfferStatus.CLOSED. Its log stays mapped while this object, a
    claim or a view of it is referred to, so it may be closed from any thread at any time.
    """

    def __cinit__(
        self,
        conductor,
        ready,
        LogBuffers logs not None,
        CountersReader counters not None,
        str channel not None,
    ):
        if type(self) is BasePublication:
            raise TypeError("a publication is made by Aeron.add_publication")
        if counters.value_address(ready.limit_counter_id) == NULL:
            raise MessageFormatError(
                f"the driver named counter {ready.limit_counter_id} as the limit of publication "
                f"{ready.registration_id}; there are {counters.max_counter_id + 1}"
            )
        self.conductor = conductor
        self._client = conductor.client()
        self._fork_generation = fork_generation
        self.registration_id = ready.correlation_id
        self.original_registration_id = ready.registration_id
        self.position_limit_id = ready.limit_counter_id
        self.channel_status_id = ready.channel_status_id
        self.channel = channel

    # -- offering --------------------------------------------------------------------------------

    cdef int ready(self) except -1:
        """Refuse calls that would corrupt the log: from a forked process or a second thread."""
        if self._fork_generation != fork_generation:
            self.conductor.ensure_usable()
        if self._busy:
            raise ConcurrentUseError(
                f"exclusive publication {self.registration_id} on {self.channel} is in use by "
                f"another thread, or by the reserved value function that calls it"
            )
        return 0

    cdef object answer(self, int64_t result, int64_t length):
        """The result of an offer, or its error, as the caller gets it."""
        if result == TOO_LONG:
            raise MessageTooLargeError(
                f"message exceeds maxMessageLength of {self.max_message_length}, length={length}: "
                f"send it in parts, or add the publication with a larger term-length"
            )
        return _status(result)

    cdef int64_t _append_memory(
        self, const void* data, int64_t length, object reserved_value
    ) except? -100:
        cdef int64_t result
        cdef reserved_call_t call
        cdef reserved_t* reserved = prepare_reserved(&call, reserved_value, self.appender.logs)
        self._busy = self._exclusive
        if length > NOGIL_LENGTH:
            with nogil:
                result = self.appender.append(<const uint8_t*> data, length, reserved)
        else:
            result = self.appender.append(<const uint8_t*> data, length, reserved)
        self._busy = 0
        if reserved != NULL:
            raise_reserved(&call)
        return result

    cdef int64_t _append(
        self, object data, object reserved_value, int64_t* length
    ) except? -100:
        cdef Py_buffer buffer
        if PyBytes_CheckExact(data):
            length[0] = PyBytes_GET_SIZE(data)
            return self._append_memory(PyBytes_AS_STRING(data), length[0], reserved_value)
        get_plain_buffer(data, &buffer, PyBUF_SIMPLE, "a message")
        try:
            length[0] = buffer.len
            return self._append_memory(buffer.buf, buffer.len, reserved_value)
        finally:
            PyBuffer_Release(&buffer)

    def offer(self, data, *, reserved_value=None):
        """Publish one message, without waiting.

        Args:
            data: anything with a contiguous buffer, at most ``max_message_length`` bytes.
            reserved_value: an int for the reserved value of every frame, or a function that is
                given each finished frame (read-only memoryview, header first) and returns it.

        Returns:
            The stream position after the message, or the OfferStatus that says why not; after
            ADMIN_ACTION try again at once.

        Raises:
            MessageTooLargeError: it can never be sent.
            ConcurrentUseError: another thread is in an exclusive publication.
        """
        cdef int64_t result
        cdef int64_t length = 0
        if self._fork_generation != fork_generation or self._busy:
            self.ready()
        if PyBytes_CheckExact(data) and reserved_value is None:
            length = PyBytes_GET_SIZE(data)
            if length <= NOGIL_LENGTH:
                result = self.appender.append(
                    <const uint8_t*> PyBytes_AS_STRING(data), length, NULL
                )
                return result if result > 0 else self.answer(result, length)
        result = self._append(data, reserved_value, &length)
        return result if result > 0 else self.answer(result, length)

    def offer_parts(self, parts, *, reserved_value=None):
        """Publish one message that is gathered from several buffers, without joining them first.

        Arguments, result and errors are those of ``offer``.
        """
        cdef int64_t result
        cdef int64_t length = 0
        cdef reserved_call_t call
        cdef reserved_t* reserved
        self.ready()
        reserved = prepare_reserved(&call, reserved_value, self.appender.logs)
        self._busy = self._exclusive
        try:
            result = append_parts(self.appender, parts, reserved, &length)
        finally:
            self._busy = 0
        if reserved != NULL:
            raise_reserved(&call)
        return self.answer(result, length)

    def send(
        self, data, *, timeout=None, on_not_connected="wait", idle=None, reserved_value=None
    ):
        """Publish one message, waiting until there is room for it.

        Args:
            data: the message, as for ``offer``.
            timeout: seconds; None waits for ever.
            on_not_connected: without a subscriber, ``wait`` for one, ``drop`` the message and
                return NOT_CONNECTED, or ``raise`` NotConnectedError.
            idle: an idle strategy, its name, or a function that is called with 0 between two
                tries; None for a back-off that gives the GIL away.
            reserved_value: the same as for ``offer``.

        Raises:
            BackPressuredError: the subscribers made no room in time.
            NotConnectedError: no subscriber (in time).
            PublicationClosedError: closed, also by the end of the client, which is its cause.
            MaxPositionExceededError: the stream is full.
        """
        result = self.offer(data, reserved_value=reserved_value)
        if result > 0:
            return result
        return send_waiting(
            self, data, result, timeout=timeout, on_not_connected=on_not_connected, idle=idle,
            reserved_value=reserved_value,
        )

    cdef int64_t offer_batch(
        self, Appender appender, append_t append, object messages, object start, object limit
    ) except -1:
        cdef int64_t result = 0
        cdef int64_t length = 0
        cdef int64_t count
        self.ready()
        self._busy = self._exclusive
        try:
            count = append(appender, messages, start, limit, &result, &length)
        finally:
            self._busy = 0
        self._last_result = result
        if count == 0 and result < 0:
            self.answer(result, length)
        return count

    def offer_many(self, messages, *, start=0, limit=None):
        """Publish messages of a sequence, as many as there is room for, without waiting.

        Args:
            messages: a list, tuple or other sequence of buffers; a two-dimensional array gives
                one message a row.
            start: index of the first message to send.
            limit: the largest number of messages to send.

        Returns:
            How many were sent; ``last_result`` says where or why it stopped. Go on with
            ``start`` moved by it.

        Raises:
            MessageTooLargeError: the first message can never be sent.
        """
        return self.offer_batch(self.appender, append_sequence, messages, start, limit)

    def offer_array(self, array, *, start=0, limit=None):
        """Publish one message a row of an array, as many as there is room for.

        Args:
            array: anything with a buffer of one dimension (an item a message) or more (the bytes
                of a row a message), rows evenly spaced, a row contiguous.
            start: index of the first row to send.
            limit: the largest number of messages to send.

        Returns:
            The number of messages sent, as ``offer_many`` does.
        """
        return self.offer_batch(self.appender, append_rows, array, start, limit)

    def offer_arrow(self, array, *, start=0, limit=None):
        """Publish one message a value of Arrow memory, as many as there is room for.

        Args:
            array: anything with ``__arrow_c_array__`` or ``__arrow_c_stream__``: binary or string
                values, or a record batch with a column ``data``; no nulls.
            start: index of the first value to send.
            limit: the largest number of messages to send.

        Returns:
            The number of messages sent, as ``offer_many`` does.
        """
        return self.offer_batch(self.appender, append_arrow, array, start, limit)

    @property
    def last_result(self):
        """The position after, or the OfferStatus that ended, the last batch call."""
        return _status(self._last_result)

    def try_claim(self, length):
        """Claim room for one unfragmented message, to be filled in place.

        Use it as a context manager: it commits, or aborts when the block raises. It is false when
        the claim was refused; ``position`` then says why.

        Args:
            length: bytes of payload, at most ``max_payload_length``.
        """
        if not 0 <= length <= self.max_payload_length:
            raise MessageTooLargeError(
                f"claim exceeds maxPayloadLength of {self.max_payload_length}, length={length}"
            )
        self.ready()
        return new_claim(self.appender, length)

    # -- state -----------------------------------------------------------------------------------

    @property
    def stream_id(self):
        """The stream id that the publication was added with."""
        return self.appender.log.stream_id

    @property
    def session_id(self):
        """Session id, drawn by the driver or given in the channel."""
        return self.appender.log.session_id

    @property
    def is_original(self):
        """Whether this was the first add of its log."""
        return self.registration_id == self.original_registration_id

    @property
    def initial_term_id(self):
        """Term id of position 0."""
        return self.appender.log.initial_term_id

    @property
    def term_length(self):
        """The length of a term in bytes."""
        return self.appender.log.term_length

    @property
    def mtu(self):
        """Bytes of the longest frame, header included."""
        return self.appender.log.mtu

    @property
    def position_bits_to_shift(self):
        """Binary logarithm of the term length."""
        return self.appender.log.position_bits

    @property
    def max_payload_length(self):
        """Bytes of the longest message that is not fragmented."""
        return self.appender.log.max_payload_length

    @property
    def max_message_length(self):
        """Bytes of the longest message."""
        return self.appender.log.max_message_length

    @property
    def max_possible_position(self):
        """The highest position that the stream can reach."""
        return self.appender.log.max_position

    @property
    def position(self):
        """Stream position of the next message; OfferStatus.CLOSED (-4) once closed."""
        return _status(self.appender.position())

    @property
    def position_limit(self):
        """Position that offers may start below; OfferStatus.CLOSED (-4) once closed."""
        return _status(self.appender.position_limit())

    @property
    def available_window(self):
        """Bytes from the position to the limit, negative behind it; CLOSED (-4) once closed."""
        if self._closed:
            return _CLOSED
        return self.appender.available_window()

    @property
    def is_connected(self):
        """Whether at least one subscriber is connected."""
        return not self._closed and log_is_connected(self.appender.log)

    @property
    def channel_status(self):
        """State of the channel's socket; always ACTIVE for IPC."""
        return channel_status(self.conductor.counters, self.channel_status_id, self.closed)

    @property
    def local_addresses(self):
        """``host:port`` of the sockets in use; empty for IPC."""
        return local_addresses(self.conductor.counters, self.channel_status_id, self.closed)

    @property
    def closed(self):
        """Whether it was closed, by the program or with the client."""
        return bool(self._closed)

    def wait_connected(self, timeout=None, *, writable=False):
        """Wait for a subscriber.

        Args:
            timeout: seconds; None waits for ever.
            writable: wait also until there is room, so that a single offer succeeds.

        Raises:
            AeronTimeoutError: no subscriber connected in time.
            PublicationClosedError: it was closed.
        """
        def is_there():
            self._raise_closed()
            return self.is_connected and (not writable or self.available_window > 0)

        self.conductor.await_condition(is_there, timeout, lambda: f"no subscriber of {self!r}")
        log_change(self.conductor.client_id, "connected", self)
        return self

    # -- destinations ----------------------------------------------------------------------------

    def add_destination(self, channel, *, wait=True, timeout=None):
        """Send the stream to one more receiver (``control-mode=manual``).

        Returns:
            A Destination, whose ``remove()`` or ``with`` block takes it away again; its
            ``future`` tells how it went when ``wait`` is False.

        Raises:
            RegistrationError: the driver refuses it.
            PublicationClosedError: the publication is closed.
        """
        self._raise_closed()
        return Destination.add_to_publication(self, self.conductor, str(channel), wait, timeout)

    def remove_destination(self, channel_or_id, *, timeout=None):
        """Remove a destination, named by its channel or its registration id."""
        self._raise_closed()
        Destination.remove_from_publication(self, self.conductor, channel_or_id, timeout)

    def _raise_closed(self):
        if self._closed:
            raise_closed(self)

    # -- the end ---------------------------------------------------------------------------------

    def force_close(self):
        """Close without telling the driver; called by the conductor."""
        self._closed = 1
        self.appender.close()

    def close(self):
        """Close; others that have added the same stream are not touched. Idempotent."""
        self.conductor.close_publication(self, False)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def __del__(self):
        if self.conductor is None or self._closed or self._fork_generation != fork_generation:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
        if self.appender is not None:
            self.force_close()
        self.conductor.publication_dropped(self.registration_id, self.original_registration_id)

    def __repr__(self):
        if self.appender is None:
            return f"<{type(self).__name__}>"
        return (
            f"<{type(self).__name__} {self.channel} stream_id={self.stream_id} "
            f"session_id={self.session_id}{' closed' if self._closed else ''}>"
        )

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} belongs to this process: it cannot be pickled")


cdef class Publication(BasePublication):
    """Shared by all threads and processes that add the same channel and stream; thread-safe."""

    def __cinit__(self, conductor, ready, LogBuffers logs, CountersReader counters, channel):
        cdef counter_t limit = counter_of(
            counters, ready.limit_counter_id, ready.registration_id
        )
        self.appender = concurrent_appender(logs, &limit, counters)


cdef class ExclusivePublication(BasePublication):
    """The only writer of its log, used by one thread at a time.

    Attributes:
        revoke_on_close: ``close`` cuts the subscribers off at once, as ``revoke`` does.
    """

    def __cinit__(self, conductor, ready, LogBuffers logs, CountersReader counters, channel):
        cdef counter_t limit = counter_of(
            counters, ready.limit_counter_id, ready.registration_id
        )
        self.exclusive = exclusive_appender(logs, &limit, counters)
        self.appender = self.exclusive
        self._exclusive = 1

    @property
    def term_id(self):
        """Term id that the next message is written in."""
        return self.exclusive.term_id

    @property
    def term_offset(self):
        """Offset in the term that the next message is written at."""
        return self.exclusive.term_offset

    def append_padding(self, length):
        """Skip room for a message of ``length`` bytes; nothing is delivered.

        Returns:
            The same as ``offer``.
        """
        cdef int64_t count = length
        self.ready()
        if count < 0:
            raise ValueError(f"a padding has no negative length: {length}")
        return self.answer(self.exclusive.append_padding(count), count)

    def offer_block(self, block):
        """Publish frames as a block poll or a recording gives them (spec log-buffers 10).

        Args:
            block: whole aligned frames that continue this stream exactly: first frame of type
                data, with this session, stream, term and the current term offset.

        Raises:
            ValueError: it does not continue the stream, or is longer than the rest of the term.
        """
        cdef Py_buffer buffer
        cdef int64_t result
        self.ready()
        get_plain_buffer(block, &buffer, PyBUF_SIMPLE, "a block")
        try:
            self._busy = 1
            with nogil:
                result = self.exclusive.append_block(<const uint8_t*> buffer.buf, buffer.len)
            self._busy = 0
            if result == BAD_BLOCK or result == TOO_LONG:
                raise ValueError(
                    f"block of {buffer.len} bytes does not continue {self!r} at term "
                    f"{self.term_id}, offset {self.term_offset}"
                )
        finally:
            PyBuffer_Release(&buffer)
        return _status(result)

    def close(self):
        """Close the publication; a second call does nothing."""
        self.conductor.close_publication(self, self.revoke_on_close)

    def revoke(self):
        """Close, and cut the subscribers off at once: what they have not read is lost."""
        self.conductor.close_publication(self, True)
