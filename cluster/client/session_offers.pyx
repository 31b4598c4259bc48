"""Batches of messages from a client to its cluster, in one native call each (spec cluster 8)."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.cluster.protocol.session_header cimport SESSION_HEADER_LENGTH, put_session_header
from aerolog.transport.client.arrow cimport append_arrow
from aerolog.transport.client.batch_offers cimport append_rows, append_sequence
from aerolog.transport.client.publication cimport BasePublication
from aerolog.transport.logbuffer.appender cimport records_t, reserved_t, slice_t


cdef class SessionOffers(Appender):
    """An appender that puts a session's header in front of each message.

    What reads sequences, arrays and Arrow memory for a publication's appender does so for this one.

    Args:
        publication: the ingress; a closed one takes nothing.
        leadership_term_id: the leader's term.
        session_id: the cluster's id of the session.
    """

    def __cinit__(
        self, BasePublication publication not None, leadership_term_id: int, session_id: int
    ) -> None:
        cdef Appender appender = publication.appender
        self._publication = publication
        self._appender = appender
        self.bind(appender.logs, &appender.limit, appender)
        put_session_header(self._header, leadership_term_id, session_id, 0)

    def offer_many(self, messages: object, start: int, limit: int | None) -> int:
        """Offer messages of a sequence; see ``Publication.offer_many``."""
        return self._publication.offer_batch(self, append_sequence, messages, start, limit)

    def offer_array(self, array: object, start: int, limit: int | None) -> int:
        """Offer a message a row of an array; see ``Publication.offer_array``."""
        return self._publication.offer_batch(self, append_rows, array, start, limit)

    def offer_arrow(self, array: object, start: int, limit: int | None) -> int:
        """Offer a message a value of Arrow memory; see ``Publication.offer_arrow``."""
        return self._publication.offer_batch(self, append_arrow, array, start, limit)

    @property
    def last_result(self) -> int | OfferStatus:
        """The position after, or the OfferStatus that ended, the last call."""
        return self._publication.last_result

    # -- as an appender --------------------------------------------------------------------------

    cdef int64_t append(
        self, const uint8_t* data, int64_t length, const reserved_t* reserved
    ) noexcept nogil:
        cdef slice_t parts[2]
        parts[0].address = self._header
        parts[0].length = SESSION_HEADER_LENGTH
        parts[1].address = data
        parts[1].length = length
        return self._appender.append_slices(parts, 2, reserved)

    cdef int64_t append_records(
        self, const records_t* records, int64_t first, const reserved_t* reserved, int64_t* result
    ) noexcept nogil:
        cdef records_t headed = records[0]
        headed.header.address = self._header
        headed.header.length = SESSION_HEADER_LENGTH
        return self._appender.append_records(&headed, first, reserved, result)

    cdef int64_t free_room(self, int64_t position) noexcept nogil:
        # Without room for many at once, append_values gives the values to append one by one.
        return 0

    cdef int64_t position(self) noexcept nogil:
        return self._appender.position()

    cdef bint is_closed(self) noexcept nogil:
        return self._appender.is_closed()
