"""Claimed frames: room in the log that is filled in place (spec log-buffers 10)."""

import importlib

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport get_i64, put_i64
from aerolog.transport.logbuffer.appender cimport (
    Appender,
    abort_claim,
    commit_claim,
)
from aerolog.transport.protocol.frames cimport FLAGS_OFFSET, RESERVED_VALUE_OFFSET

from aerolog.transport.client.status import OfferStatus


# A claim and the view of its buffer refer to each other; cleared first, it would not be aborted.
@cython.no_gc_clear
cdef class BufferClaim:
    """A claimed frame: fill ``buffer``, then commit or abort; made by ``try_claim``.

    As a context manager it commits at the end of the block and aborts when the block raises. An
    aborted claim becomes padding, which subscribers skip. Finish it within the driver's
    publication unblock timeout (15 s by default): subscribers wait for it until then.

    Attributes:
        on_commit: called once the message is published; None for nothing.
    """

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        self._require_open()
        PyBuffer_FillInfo(buffer, self, self._claim.payload, self._claim.length, 0, flags)
        self._exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self._exports -= 1

    cdef int _require_open(self) except -1:
        if not self._open:
            raise ValueError(
                f"the claim was refused: {self.position!r}" if self._result < 0
                else "the claim is committed or aborted already"
            )
        return 0

    @property
    def position(self):
        """Stream position after the message, or the OfferStatus that says why it was refused."""
        return OfferStatus(self._result) if self._result < 0 else self._result

    @property
    def buffer(self):
        """The claimed bytes, writable until the claim is finished."""
        if self._buffer is None:
            self._require_open()
            self._buffer = memoryview(self)
        return self._buffer

    @property
    def reserved_value(self):
        """Reserved value of the frame; 0 unless set."""
        self._require_open()
        return get_i64(self._claim.frame + RESERVED_VALUE_OFFSET)

    @reserved_value.setter
    def reserved_value(self, value):
        cdef int64_t word = value
        self._require_open()
        put_i64(self._claim.frame + RESERVED_VALUE_OFFSET, word)

    @property
    def flags(self):
        """Flags of the frame; BEGIN and END (0xC0) unless set."""
        self._require_open()
        return self._claim.frame[FLAGS_OFFSET]

    @flags.setter
    def flags(self, value):
        cdef uint8_t flags = value
        self._require_open()
        self._claim.frame[FLAGS_OFFSET] = flags

    def as_array(self, dtype):
        """A NumPy array of the claimed length, whose content is copied in by ``commit``.

        It is memory of its own, so it may outlive the claim; use it or ``buffer``, not both.
        """
        self._require_open()
        if self._staged is None:
            self._staged = bytearray(self._claim.length)
        return importlib.import_module("numpy").frombuffer(self._staged, dtype)

    cdef int _finish(self) except -1:
        """Release the buffer, so that no holder can write to it any more."""
        self._require_open()
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None
        if self._exports:
            raise BufferError(
                "a slice of the claimed buffer is still there: release it before the claim is "
                "finished"
            )
        self._open = False
        return 0

    def commit(self):
        """Publish the message.

        Raises:
            BufferError: if a slice of the buffer still exists; nothing was done.
        """
        self._finish()
        if self._staged is not None:
            memcpy(self._claim.payload, PyByteArray_AS_STRING(self._staged), self._claim.length)
            self._staged = None
        commit_claim(&self._claim)
        if self.on_commit is not None:
            self.on_commit()

    def abort(self):
        """Abandon the message; its room becomes padding."""
        self._finish()
        abort_claim(&self._claim)

    def __bool__(self):
        return self._result > 0

    def __len__(self):
        return self._claim.length if self._result > 0 else 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not self._open:
            return
        if kind is None:
            self.commit()
        else:
            self.abort()

    def __dealloc__(self):
        # Nobody can fill it any more, and subscribers must not have to wait for the unblocker.
        if self._open and self._appender is not None:
            abort_claim(&self._claim)

    def __repr__(self):
        state = "open" if self._open else "finished" if self._result > 0 else "refused"
        return f"<BufferClaim {state} position={self.position!r} length={len(self)}>"


cdef BufferClaim new_claim(Appender appender, int64_t length):
    cdef BufferClaim claim = BufferClaim.__new__(BufferClaim)
    claim._appender = appender
    cdef int32_t retries = 0
    while True:
        claim._result = appender.claim(length, &claim._claim)
        if not appender.is_retried(claim._result, &retries):
            break
    claim._open = claim._result > 0
    return claim
