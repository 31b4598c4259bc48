"""Memory behind the memoryviews that handlers get.

A memoryview, and whatever is sliced from it or made on top of it, refers to one of these, which
refers to what keeps the memory there: the mapped log, or a buffer that was taken over from an
assembler because somebody kept a view of it. Reading a kept view is always safe; what it shows is
only promised until the handler returns.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdlib cimport free

from aerolog.transport.logbuffer.assembler cimport Assembler


cdef class MessageView:
    """Read-only memory of one message at a time."""

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*> self.address, self.length, 1, flags)

    def __dealloc__(self):
        free(self._owned)


cdef MessageView view_of(object keeps_mapped):
    cdef MessageView view = MessageView.__new__(MessageView)
    view._keeps_mapped = keeps_mapped
    return view


cdef MessageView detach_from(Assembler assembler, MessageView view):
    """Leave the assembler's buffer to a view that a program kept; returns the next view to use.

    The assembler goes on with a copy, since an aborted message is assembled again.
    """
    view._owned = assembler.give_up_buffer()
    if view._owned == NULL:
        raise MemoryError("no memory to go on beside a message that was kept")
    return view_of(None)
