"""Bookkeeping of retransmissions (spec wire-protocol 7).

The effect of NAKs is bounded in three ways: by the flow control's longest retransmission, by the
linger time in which repeated requests are ignored, and by the amount that all streams of the
endpoint may send again in a short time. Without the last bound, requests for ever other offsets,
which on unicast replace each other, could turn each small datagram into a long retransmission.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free

from aerolog.transport.driver.flow_control.flow_control cimport FlowControl
from aerolog.transport.driver.send.send_endpoint cimport SharedWindow
from aerolog.transport.events.event_log cimport StreamEvents
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH

from aerolog.transport.errors import ConfigurationError

cdef enum:
    INACTIVE = 0
    DELAYED = 1
    LINGERING = 2

cdef int64_t _MAX_TIME_NS = INT64_MAX // 4


def _checked(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"{what} must be in {low}..{high}: {value}")
    return value


cdef class RetransmitHandler:
    """Decides which requests for retransmission are answered, and when.

    Args:
        term_length: the length of the stream's terms in bytes.
        is_group: whether the channel has group semantics: up to max_resend requests are handled at
            a time, otherwise one, which a new one replaces.
        max_resend: 1 to 256.
        delay_ns: the delay from a request to its answer; 0 answers at once.
        linger_ns: the time after an answer in which requests for the same range are ignored.
        events: logs what is sent again; None when it is not logged.

    Raises:
        ConfigurationError: an argument is out of range.
    """

    def __init__(
        self,
        term_length: int,
        *,
        is_group: bool,
        max_resend: int = 16,
        delay_ns: int = 0,
        linger_ns: int = 10_000_000,
        StreamEvents events: StreamEvents | None = None,
    ) -> None:
        if self._actions != NULL:
            raise ConfigurationError("a handler is initialised once")
        self.term_length = _checked("term length", term_length, 1 << 16, 1 << 30)
        self.is_group = is_group
        _checked("max resend", max_resend, 1, MAX_RESEND_LIMIT)
        self.max_resend = max_resend if is_group else 1
        self.delay_ns = _checked("retransmit delay in ns", delay_ns, 0, _MAX_TIME_NS)
        self.linger_ns = _checked("retransmit linger in ns", linger_ns, 0, _MAX_TIME_NS)
        self.events = events
        self._actions = <action_t*> calloc(self.max_resend, sizeof(action_t))
        if self._actions == NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        free(self._actions)

    cdef int on_nak(
        self,
        FlowControl flow_control,
        SharedWindow shared,
        int32_t term_id,
        int32_t term_offset,
        int32_t length,
        int64_t now_ns,
        resend_t* resend,
    ) noexcept nogil:
        cdef action_t* action
        cdef bint is_seen_to = False
        cdef int32_t granted
        cdef int32_t longest
        if length < 0 or not 0 <= term_offset <= self.term_length - DATA_HEADER_LENGTH:
            return RETRANSMIT_INVALID
        if length == 0:
            return RETRANSMIT_NOTHING
        # A strategy from elsewhere is not believed: the term's end and the request bound it again.
        granted = flow_control.max_retransmit_length(term_offset, length)
        granted = min(granted, length, self.term_length - term_offset)
        if granted <= 0:
            return RETRANSMIT_NOTHING
        action = self._slot_for(term_id, term_offset, &is_seen_to)
        if is_seen_to:
            return RETRANSMIT_NOTHING
        if action == NULL:
            return RETRANSMIT_NO_SLOT
        longest = flow_control.max_retransmit_length(0, self.term_length)
        if not shared.grant(granted, longest, now_ns):
            return RETRANSMIT_OVER_BUDGET
        if action.state == INACTIVE:
            self.active_count += 1
        action.term_id = term_id
        action.term_offset = term_offset
        action.length = granted
        if self.delay_ns > 0:
            action.state = DELAYED
            action.expiry_ns = now_ns + self.delay_ns
            return RETRANSMIT_LATER
        action.state = LINGERING
        action.expiry_ns = now_ns + self.linger_ns
        resend.term_id = term_id
        resend.term_offset = term_offset
        resend.length = granted
        return RETRANSMIT_NOW

    cdef action_t* _slot_for(
        self, int32_t term_id, int32_t term_offset, bint* is_seen_to
    ) noexcept nogil:
        cdef action_t* action
        cdef action_t* unused = NULL
        cdef int32_t i
        for i in range(self.max_resend):
            action = &self._actions[i]
            if action.state == INACTIVE:
                if unused == NULL:
                    unused = action
            elif (
                action.term_id == term_id
                and action.term_offset <= term_offset < action.term_offset + action.length
            ):
                is_seen_to[0] = True
                return action
        if unused == NULL and not self.is_group:
            return self._actions
        return unused

    cdef bint next_due(self, int64_t now_ns, resend_t* resend) noexcept nogil:
        cdef action_t* action
        cdef int32_t left = self.active_count
        cdef int32_t i
        for i in range(self.max_resend):
            if left == 0:
                break
            action = &self._actions[i]
            if action.state == INACTIVE:
                continue
            left -= 1
            if action.expiry_ns - now_ns >= 0:
                continue
            if action.state == DELAYED:
                action.state = LINGERING
                action.expiry_ns = now_ns + self.linger_ns
                resend.term_id = action.term_id
                resend.term_offset = action.term_offset
                resend.length = action.length
                return True
            action.state = INACTIVE
            self.active_count -= 1
        return False

    @property
    def active(self) -> int:
        """The number of requests that are being handled."""
        return self.active_count

    def nak(
        self,
        FlowControl flow_control not None,
        SharedWindow shared not None,
        term_id: int,
        term_offset: int,
        length: int,
        now_ns: int,
    ) -> tuple[int, tuple[int, int, int] | None]:
        """Handle a receiver's NAK for bytes of a term; numbers are signed, 32 bits.

        Returns:
            One of the RETRANSMIT answers, and with RETRANSMIT_NOW the term id, term offset and
            length to send again.
        """
        cdef resend_t resend
        answer = self.on_nak(
            flow_control, shared, term_id, term_offset, length, now_ns, &resend
        )
        if answer != RETRANSMIT_NOW:
            return answer, None
        return answer, (resend.term_id, resend.term_offset, resend.length)

    def due(self, now_ns: int) -> list[tuple[int, int, int]]:
        """Return everything to send again now: term id, term offset and length of each."""
        cdef resend_t resend
        found = []
        while self.next_due(now_ns, &resend):
            found.append((resend.term_id, resend.term_offset, resend.length))
        return found


def is_resendable(
    position: int, sender_position: int, term_length: int, max_message_length: int
) -> bool:
    """Return whether a position was sent already and is still in the log."""
    return can_resend(position, sender_position, term_length, max_message_length)
