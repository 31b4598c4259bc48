"""What services send to a session, read without the interpreter (spec cluster 8).

Messages are copied into a batch. All else that the cluster says comes as bytes, one event at a
time, in its place between the messages.
"""

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t

from aerolog.archive.protocol.offsets cimport (
    BLOCK_LENGTH_OFFSET,
    MESSAGE_HEADER_LENGTH,
    SCHEMA_ID_OFFSET,
    TEMPLATE_ID_OFFSET,
)
from aerolog.cluster.message_columns cimport MessageColumns, entry_t
from aerolog.cluster.protocol.session_header cimport (
    SCHEMA_ID,
    SESSION_HEADER_LENGTH,
    SESSION_ID_OFFSET,
    SESSION_MESSAGE,
    TERM_ID_OFFSET,
    TIMESTAMP_OFFSET,
)
from aerolog.transport.client.subscription cimport Subscription
from aerolog.transport.concurrent.atomic cimport get_i64, get_u16
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.logbuffer.log_reader cimport (
    ACTION_ABORT,
    ACTION_BREAK,
    ACTION_CONTINUE,
    LogReader,
)
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

from aerolog.cluster.client.egress_message import EgressMessage


cdef enum:
    READ_ON
    AT_EVENT
    NO_MEMORY


cdef int take_fragment(void* context, const fragment_t* fragment) noexcept nogil:
    return (<EgressReader> context)._on_fragment(fragment)


cdef class EgressBatch(MessageColumns):
    """A sequence of `EgressMessage`, in their order, which has columns as well."""

    cdef object message(self, int32_t index):
        return EgressMessage(
            self.payload(index),
            self.entries[index].timestamp,
            self.entries[index].term_id,
            self.entries[index].position,
        )


cdef class EgressReader:
    """Reads egress; bytes that say nothing to the session are passed over, as anybody may publish.

    Args:
        subscription: the egress.
        session_id: the cluster's id of the session.

    Attributes:
        passed_over: how many pieces were no message of the schema, or for another session.
    """

    def __cinit__(self, Subscription subscription not None, session_id: int) -> None:
        self._subscription = subscription
        self._session_id = session_id
        self._batch = EgressBatch()

    def poll(self, limit: int, in_order: bool) -> int:
        """Read to the limit or the next event, which `take_event` gives.

        Args:
            limit: the largest number of fragments.
            in_order: stop before an event while messages before it were not taken.

        Returns:
            The number of fragments.

        Raises:
            MemoryError: there is no memory for a message, which stays in the stream.
        """
        cdef int32_t most = <int32_t> min(<int64_t> limit, <int64_t> INT32_MAX)
        cdef int32_t done = 0
        cdef LogReader reader
        cdef list readers
        if most < 0:
            raise ValueError(f"a limit is not negative: {limit}")
        self._in_order = in_order
        self._stop = READ_ON
        readers = self._subscription.begin_batch()
        try:
            for reader in readers:
                with nogil:
                    done += reader.poll_controlled(
                        take_fragment, <void*> self, most - done, INT64_MAX, True
                    )
                if self._stop != READ_ON or done >= most:
                    break
        finally:
            self._subscription.end_batch()
        if self._stop == NO_MEMORY:
            raise MemoryError("no memory for a message of the egress")
        return done

    cdef int _on_fragment(self, const fragment_t* fragment) noexcept nogil:
        cdef const uint8_t* message = fragment.frame + DATA_HEADER_LENGTH
        cdef int32_t length = fragment.length - DATA_HEADER_LENGTH
        cdef int32_t skipped
        cdef entry_t entry
        if length < MESSAGE_HEADER_LENGTH or get_u16(message + SCHEMA_ID_OFFSET) != SCHEMA_ID:
            self.passed_over += 1
            return ACTION_CONTINUE
        if get_u16(message + TEMPLATE_ID_OFFSET) != SESSION_MESSAGE:
            self._stop = AT_EVENT
            if self._in_order and self._batch.count > self._given:
                return ACTION_ABORT
            return self._on_event(fragment)
        skipped = MESSAGE_HEADER_LENGTH + get_u16(message + BLOCK_LENGTH_OFFSET)
        if skipped > length or skipped < SESSION_HEADER_LENGTH:
            self.passed_over += 1
            return ACTION_CONTINUE
        entry.session_id = get_i64(message + SESSION_ID_OFFSET)
        if entry.session_id != self._session_id:
            self.passed_over += 1
            return ACTION_CONTINUE
        entry.term_id = get_i64(message + TERM_ID_OFFSET)
        entry.timestamp = get_i64(message + TIMESTAMP_OFFSET)
        entry.position = fragment.position
        if self._batch.copy(&entry, message + skipped, length - skipped):
            return ACTION_CONTINUE
        self._stop = NO_MEMORY
        return ACTION_ABORT

    cdef int _on_event(self, const fragment_t* fragment) noexcept with gil:
        cdef const uint8_t* event = fragment.frame + DATA_HEADER_LENGTH
        try:
            self._event = event[: fragment.length - DATA_HEADER_LENGTH]
        except MemoryError:
            self._stop = NO_MEMORY
            return ACTION_ABORT
        return ACTION_BREAK

    def __len__(self) -> int:
        """How many messages were not taken."""
        return self._batch.count - self._given

    def take_event(self) -> bytes | None:
        """The event at which the last poll ended; None when it did not, or was given already."""
        event, self._event = self._event, None
        return event

    def take_message(self) -> EgressMessage | None:
        """The oldest message that was not taken; None when there is none."""
        cdef EgressBatch batch = self._batch
        cdef int32_t index = self._given
        if index == batch.count:
            return None
        self._given += 1
        if self._given == batch.count:
            self._batch, self._given = EgressBatch(), 0
        return batch.message(index)

    def take_batch(self) -> EgressBatch:
        """All messages that were not taken, oldest first."""
        cdef EgressBatch batch = self._batch
        cdef EgressBatch rest
        if self._given > 0:
            rest = EgressBatch()
            rest.copy_from(batch, self._given)
            batch = rest
        self._batch, self._given = EgressBatch(), 0
        return batch
