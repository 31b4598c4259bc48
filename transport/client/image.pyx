"""Images: one publication as one subscription sees it (spec client 11, spec log-buffers 19 to 23).

The log reader finds frames without the GIL. An image delivers them to Python as calls of a handler
with memoryviews, as copies, or as blocks. A handler's error ends the poll, and the position is then
just behind the message that it was raised for; what follows is not read yet.
"""

import os
import weakref

from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.ref cimport Py_REFCNT
from posix.unistd cimport close

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t

from aerolog.transport.client.liveness cimport fork_generation
from aerolog.transport.client.message cimport Header, copy_message
from aerolog.transport.client.batch_source cimport BatchSource
from aerolog.transport.client.message_view cimport MessageView, detach_from, view_of
from aerolog.transport.logbuffer.assembler cimport ASSEMBLE_NO_MEMORY, ASSEMBLE_NOTHING
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    active_transport_count,
    end_of_stream_position,
    publication_is_revoked,
)
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport (
    ACTION_ABORT,
    ACTION_BREAK,
    ACTION_COMMIT,
    ACTION_CONTINUE,
    TAKE_LOST,
    block_t,
    is_valid_position,
    log_reader,
    scan_fragments,
)
from aerolog.transport.memory.counter cimport counter_of_image, counter_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, FLAG_END, align_frame

from aerolog.transport.client.registration import ResourceKind
from aerolog.transport.errors import (
    ConcurrentUseError,
    MessageFormatError,
    MessageTooLargeError,
    ResourceClosedError,
)
from aerolog.transport.protocol.commands import RejectImage

# Fragments that are found ahead of their handler calls; more than that are found in turns.
cdef enum:
    CHUNK = 128
    MAX_REASON_LENGTH = 1023


cdef int64_t _limit_position(object until) except? -2:
    return INT64_MAX if until is None else until


cdef int32_t fragment_limit(object limit) except -1:
    cdef int64_t value = limit
    if value < 0:
        raise ValueError(f"a limit is not negative: {limit}")
    return <int32_t> min(value, <int64_t> INT32_MAX)


cdef class Image(BatchSource):
    """One publication as one subscription sees it; polled by one thread at a time.

    A closed image delivers nothing; its position and end are the last ones.
    """

    def __dealloc__(self):
        if self._log_fd >= 0:
            close(self._log_fd)

    def __cinit__(
        self, subscription, available, LogBuffers logs not None, CountersReader counters not None
    ):
        self._log_fd = -1
        cdef counter_t position = counter_of_image(
            counters,
            available.position_counter_id,
            available.subscription_registration_id,
            available.correlation_id,
        )
        if position.value == NULL:
            raise MessageFormatError(
                f"the driver named counter {available.position_counter_id} as the position of "
                f"image {available.correlation_id}; there are {counters.max_counter_id + 1}"
            )
        self.reader = log_reader(logs, &position, counters)
        if not self.reader.holds():
            raise ResourceClosedError(
                f"the driver has closed image {available.correlation_id} before this client took "
                f"it up: its position counter {available.position_counter_id} is free or another's"
            )
        self._subscription = weakref.ref(subscription)
        self.conductor = subscription.conductor
        self._fork_generation = fork_generation
        self.correlation_id = available.correlation_id
        self.session_id = available.session_id
        self.stream_id = available.stream_id
        self.subscriber_position_id = available.position_counter_id
        self.source_identity = available.source_identity
        self.join_position = self.reader.position()
        self._term_view = view_of(logs)
        self._assembled_view = view_of(None)

    # -- delivery --------------------------------------------------------------------------------

    cdef int enter(self) except -1:
        """Begin a poll; the caller clears ``busy`` when it is over."""
        if self.reader.is_closed():
            self.conductor.raise_close_reason()
        if self._fork_generation != fork_generation:
            self.conductor.ensure_usable()
        if self.busy:
            raise ConcurrentUseError(
                f"{self!r} is being polled by another thread, or by the handler that polls it"
            )
        self.busy = 1
        return 0

    cdef list begin_batch(self):
        self.enter()
        return [self.reader]

    cdef int end_batch(self) except -1:
        self.busy = 0
        return 0

    cdef int _descriptor(self) except -1:
        """A descriptor of the log's file, which exists until the image is drained."""
        if self._log_fd < 0:
            self._log_fd = os.open(self.reader.logs.file.path, os.O_RDONLY | os.O_CLOEXEC)
        return self._log_fd

    cdef object _call(self, object handler, const fragment_t* message):
        """Hand a message to a handler; the view is released when the handler has returned."""
        cdef Header header = self._header
        cdef object view
        cdef object answer
        if header is None or Py_REFCNT(header) > 2:
            # The last one was kept, so it stays as it is.
            header = Header.__new__(Header)
            header.initial_term_id = self.reader.log.initial_term_id
            header.position_bits_to_shift = self.reader.log.position_bits
            self._header = header
        header.fill(message)
        view = self.begin_view(message, 0)
        try:
            answer = handler(view, header)
        finally:
            if Py_REFCNT(view) > 1:
                release_view(view)
            view = None
            self.end_view(message)
        return answer

    cdef object begin_view(self, const fragment_t* message, int32_t skipped):
        cdef MessageView memory = self._assembled_view if message.is_assembled else self._term_view
        memory.address = message.frame + DATA_HEADER_LENGTH + skipped
        memory.length = message.length - DATA_HEADER_LENGTH - skipped
        return PyMemoryView_FromObject(memory)

    cdef int end_view(self, const fragment_t* message) except -1:
        cdef MessageView memory = self._assembled_view
        if message.is_assembled and Py_REFCNT(memory) > 2:
            self._assembled_view = detach_from(self.reader.assembler, memory)
        return 0

    cdef int32_t poll_handler(
        self, object handler, bint controlled, int32_t limit, int64_t limit_position, bint assemble
    ) except -1:
        """Hand messages to a handler; what it answers steers the poll where it is controlled."""
        cdef object answer
        cdef fragment_t fragments[CHUNK]
        cdef fragment_t message
        cdef int32_t done = 0
        cdef int32_t count
        cdef int32_t i
        cdef int32_t status
        cdef int action
        cdef int64_t before
        cdef int64_t position
        cdef int64_t next_position
        while done < limit:
            position = self.reader.position()
            count = self.reader.scan(
                limit_position, fragments, min(limit - done, <int32_t> CHUNK), &next_position
            )
            action = ACTION_CONTINUE
            try:
                for i in range(count):
                    before = _start_of(&fragments[i])
                    status = self.reader.take(&fragments[i], &message, assemble)
                    if status == TAKE_LOST:
                        return done
                    if status == ASSEMBLE_NO_MEMORY:
                        raise MemoryError("no memory to assemble a message")
                    position = fragments[i].position
                    done += 1
                    if status == ASSEMBLE_NOTHING:
                        continue
                    answer = self._call(handler, &message)
                    if controlled:
                        action = _action(answer)
                    if action == ACTION_COMMIT:
                        self.reader.advance(position)
                    elif action == ACTION_ABORT:
                        if message.is_assembled:
                            self.reader.assembler.cut_back()
                        position = self.reader.frame_end = before
                        done -= 1
                        break
                    if action == ACTION_BREAK or self.reader.is_closed():
                        action = ACTION_BREAK
                        break
                else:
                    self.reader.settle(position, next_position)
            finally:
                self.reader.advance(position)
            if action == ACTION_ABORT or action == ACTION_BREAK:
                break
            if count < CHUNK or next_position & self.reader.log.term_mask == 0:
                break
        return done

    cdef int32_t poll_copies(
        self, list messages, int32_t limit, int64_t limit_position, bint assemble
    ) except -1:
        """Append at most ``limit`` copied messages; returns how many fragments they were."""
        cdef fragment_t fragments[CHUNK]
        cdef fragment_t message
        cdef int32_t fragments_taken = 0
        cdef int32_t wanted = limit
        cdef int32_t count
        cdef int32_t i
        cdef int32_t status
        cdef int64_t position
        cdef int64_t next_position
        cdef int64_t frame_end
        cdef object copied
        while wanted > 0:
            position = self.reader.position()
            count = self.reader.scan(
                limit_position, fragments, min(wanted, <int32_t> CHUNK), &next_position
            )
            try:
                for i in range(count):
                    frame_end = self.reader.frame_end
                    status = self.reader.take(&fragments[i], &message, assemble)
                    if status == TAKE_LOST:
                        return fragments_taken
                    if status == ASSEMBLE_NO_MEMORY:
                        raise MemoryError("no memory to assemble a message")
                    if status != ASSEMBLE_NOTHING:
                        copied = copy_message(&message)
                        if not message.is_assembled and not self.reader.holds_log():
                            self.reader.frame_end = frame_end
                            return fragments_taken
                        messages.append(copied)
                        wanted -= 1
                    position = fragments[i].position
                    fragments_taken += 1
                self.reader.settle(position, next_position)
            finally:
                self.reader.advance(position)
            if count == 0:
                break
            if next_position & self.reader.log.term_mask == 0:
                break
        return fragments_taken

    cdef int64_t poll_one_block(self, object handler, int64_t length, bint raw) except -1:
        cdef block_t block
        cdef MessageView memory
        cdef object view
        if self.reader.block(length, &block) <= 0:
            return 0
        memory = self._term_view
        memory.address = block.address
        memory.length = block.length
        view = PyMemoryView_FromObject(memory)
        try:
            if raw:
                handler(
                    self._descriptor(), block.file_offset, view, block.session_id, block.term_id
                )
            else:
                handler(view, block.session_id, block.term_id)
        finally:
            if Py_REFCNT(view) > 1:
                release_view(view)
            self.reader.advance(self.reader.position() + block.length)
            if not block.is_padding:
                self.reader.frame_end = self.reader.position()
        return block.length

    def poll(self, handler, limit=10, *, assemble=True, until=None):
        """Hand messages to a handler.

        Args:
            handler: called with a read-only memoryview of the payload and a Header. The view is
                released when the handler returns; copy what you keep.
            limit: take at most so many fragments.
            assemble: join the fragments of long messages; without, each fragment is delivered.
            until: take no fragment that starts at this position or behind it.

        Returns:
            How many fragments were taken; those of unfinished messages count.

        Raises:
            ConcurrentUseError: another thread polls this image.
            Exception: the handler's own; its message counts as taken, what follows does not.
        """
        return _poll(self, handler, False, limit, until, assemble)

    def poll_controlled(self, handler, limit=10, *, assemble=True, until=None):
        """As ``poll``, with a handler that steers it.

        Args:
            handler: returns an Action: CONTINUE (or None), COMMIT to store the position now,
                BREAK to stop behind this message, ABORT to stop before it and get it again.
            limit: as for ``poll``.
            assemble: as for ``poll``.
            until: as for ``poll``.
        """
        return _poll(self, handler, True, limit, until, assemble)

    def poll_messages(self, limit=10, *, assemble=True, until=None):
        """Take at most ``limit`` messages, copied, as a list."""
        cdef list messages = []
        cdef int32_t most = fragment_limit(limit)
        cdef int64_t limit_position = _limit_position(until)
        self.enter()
        try:
            self.poll_copies(messages, most, limit_position, assemble)
        finally:
            self.busy = 0
        return messages

    def peek(self, handler, start=None, until=None):
        """Look at fragments without taking them; the position does not move.

        Args:
            handler: as for ``poll_controlled``, called with each fragment as it is. ABORT stops
                before it, BREAK behind it.
            start: position to begin at, a frame's; the current one by default.
            until: as for ``poll``.

        Returns:
            The position to go on from, always at the end of a whole message.

        Raises:
            ValueError: ``start`` lies before the position, behind the term, or between frames.
        """
        cdef int64_t limit_position = _limit_position(until)
        cdef int64_t position
        self.enter()
        try:
            position = self.reader.position() if start is None else start
            if self.reader.is_closed():
                return position
            self._require_valid(position)
            return self._peek(handler, position, limit_position)
        finally:
            self.busy = 0

    def _peek(self, handler, int64_t position, int64_t limit_position):
        cdef fragment_t fragments[CHUNK]
        cdef int64_t result = position
        cdef int64_t next_position = position
        cdef int32_t count = CHUNK
        cdef int32_t i
        cdef int action
        while count == CHUNK:
            count = scan_fragments(
                self.reader.log, next_position, limit_position, fragments, CHUNK, &next_position
            )
            for i in range(count):
                if not self.reader.holds_log():
                    return result
                action = _action(self._call(handler, &fragments[i]))
                if action == ACTION_ABORT:
                    return result
                if fragments[i].flags & FLAG_END:
                    result = fragments[i].position
                if action == ACTION_BREAK:
                    return result
            if (count == 0 or fragments[count - 1].flags & FLAG_END) and next_position > result:
                result = next_position
            if next_position & self.reader.log.term_mask == 0:
                break
        return result

    def poll_block(self, handler, length):
        """Hand a run of whole frames to a handler, headers and all.

        Args:
            handler: called with a read-only memoryview of the frames, the session id and the term
                id of the first. A single padding frame is a block too: look at its type.
            length: at most so many bytes; at least one frame must fit.

        Returns:
            Bytes taken.
        """
        return _poll_block(self, handler, length, False)

    def poll_raw(self, handler, length):
        """Like ``poll_block``, for callers that send bytes of the log file (``os.sendfile``).

        Args:
            handler: called with a descriptor of the log file, the offset of the block in it, a
                read-only memoryview of the frames, the session id and the term id. The descriptor
                belongs to the image: do not close it, and do not use it after the image is gone.
            length: as for ``poll_block``.
        """
        return _poll_block(self, handler, length, True)

    # -- state -----------------------------------------------------------------------------------

    def _require_valid(self, int64_t position):
        if not is_valid_position(self.reader.log, self.reader.position(), position):
            raise ValueError(
                f"position {position} is not a multiple of 32 from {self.reader.position()} on in "
                f"its term of {self.reader.log.term_length} bytes"
            )

    @property
    def subscription(self):
        """The subscription it belongs to; None when that is gone."""
        return self._subscription()

    @property
    def position(self):
        """Stream position that was read up to. Set it to skip forward within the term."""
        return self.reader.position()

    @position.setter
    def position(self, value):
        cdef int64_t position = value
        self.enter()
        try:
            if not self.reader.is_closed():
                self._require_valid(position)
                self.reader.advance(position)
                self.reader.frame_end = self.reader.position()
        finally:
            self.busy = 0

    @property
    def message_position(self):
        """Stream position up to which whole messages were taken.

        With a message in assembly it is where that begins: the position to read on from elsewhere.
        """
        if self.reader.assembler.pending_length() < 0:
            return self.reader.position()
        return self.delivered_position

    @property
    def delivered_position(self):
        """Stream position behind the last whole message that was taken, before any padding.

        Padding at the end of an image need not be the stream's: a driver puts it in place of what a
        publisher had begun to write when it died.
        """
        return self.reader.delivered_position()

    @property
    def initial_term_id(self):
        """Term id of position 0."""
        return self.reader.log.initial_term_id

    @property
    def term_length(self):
        """Bytes of a term."""
        return self.reader.log.term_length

    @property
    def position_bits_to_shift(self):
        """Binary logarithm of the term length."""
        return self.reader.log.position_bits

    @property
    def mtu(self):
        """Bytes of the longest frame, header included."""
        return self.reader.log.mtu

    @property
    def end_of_stream_position(self):
        """Position at which the stream ends; 2^63-1 until that is known."""
        if self.reader.is_closed():
            return self._final_end_of_stream_position
        return end_of_stream_position(self.reader.log)

    @property
    def is_end_of_stream(self):
        """Whether everything was read that will ever come."""
        if self.reader.is_closed():
            return self._final_end_of_stream
        return self.reader.position() >= end_of_stream_position(self.reader.log)

    @property
    def is_revoked(self):
        """Whether the publisher revoked the stream: what was not read is lost."""
        if self.reader.is_closed():
            return self._final_revoked
        return publication_is_revoked(self.reader.log)

    @property
    def active_transport_count(self):
        """Transports that the stream comes in by; 0 for IPC and when closed."""
        if self.reader.is_closed():
            return 0
        return active_transport_count(self.reader.log)

    @property
    def closed(self):
        """Whether the stream is gone from this subscription."""
        return self.reader.is_closed()

    def reject(self, reason, *, timeout=None):
        """Have the driver drop this image, and tell the publisher why.

        Args:
            reason: text, at most 1023 bytes.
            timeout: seconds to wait for the driver's answer; None for the driver timeout.

        Raises:
            RegistrationError: the driver does not know the image (any more).
        """
        length = len(reason.encode("ascii", "replace"))
        if length > MAX_REASON_LENGTH:
            raise MessageTooLargeError(
                f"a reason has at most {MAX_REASON_LENGTH} bytes, this one {length}"
            )
        owner, image_id, position = self.conductor, self.correlation_id, self.position
        owner.call(
            ResourceKind.DESTINATION,
            lambda i: RejectImage(owner.client_id, i, image_id, position, reason),
            lambda _: None,
            timeout,
        )

    def force_close(self):
        """Close; called by the conductor when the driver has taken the image away."""
        if self.reader.is_closed():
            return
        self._final_end_of_stream_position = end_of_stream_position(self.reader.log)
        self._final_end_of_stream = self.reader.position() >= self._final_end_of_stream_position
        self._final_revoked = publication_is_revoked(self.reader.log)
        self.reader.close()

    def __repr__(self):
        return (
            f"<Image session_id={self.session_id} stream_id={self.stream_id} "
            f"source={self.source_identity} correlation_id={self.correlation_id}"
            f"{' closed' if self.closed else ''}>"
        )

    def __reduce__(self):
        raise TypeError("Image belongs to this process: it cannot be pickled")


cdef int32_t _poll(
    Image image, object handler, bint controlled, object limit, object until, bint assemble
) except -1:
    cdef int32_t most = fragment_limit(limit)
    cdef int64_t limit_position = _limit_position(until)
    image.enter()
    try:
        return image.poll_handler(handler, controlled, most, limit_position, assemble)
    finally:
        image.busy = 0


cdef int64_t _poll_block(Image image, object handler, int64_t length, bint raw) except -1:
    image.enter()
    try:
        return image.poll_one_block(handler, length, raw)
    finally:
        image.busy = 0


cdef int64_t _start_of(const fragment_t* fragment) noexcept:
    """Position of the fragment's first byte."""
    return fragment.position - align_frame(fragment.length)


cdef int _action(object answer) except -1:
    if answer is None:
        return ACTION_CONTINUE
    cdef int action = answer
    if not ACTION_ABORT <= action <= ACTION_CONTINUE:
        raise ValueError(f"a controlled handler returns an Action or None, not {answer!r}")
    return action


cdef int release_view(object view) except -1:
    """Make a view that the handler kept useless, unless something was built on it, like an array.

    That holds the memory itself, so reading it stays safe.
    """
    try:
        view.release()
    except BufferError:
        return 0
    return 0
