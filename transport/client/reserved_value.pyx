"""Reserved values of frames: a number, or a function that is shown each frame.

Spec log-buffers 10.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.client.message_view cimport MessageView, view_of
from aerolog.transport.logbuffer.appender cimport reserved_t


cdef int64_t _supply(void* context, const uint8_t* frame, int32_t frame_length) noexcept with gil:
    """Ask the function; the first error is kept for raise_reserved and the value is then 0."""
    cdef reserved_call_t* call = <reserved_call_t*> context
    cdef MessageView view
    cdef int64_t value = 0
    if call.error != NULL:
        return 0
    try:
        view = view_of(<object> call.logs)
        view.address = frame
        view.length = frame_length
        value = (<object> call.function)(memoryview(view))
    except BaseException as error:
        Py_INCREF(error)
        call.error = <void*> <PyObject*> error
    return value


cdef reserved_t* prepare_reserved(
    reserved_call_t* call, object value, object logs
) except? NULL:
    """Return the supplier that the appender takes; NULL for None, which leaves the field 0."""
    if value is None:
        return NULL
    call.error = NULL
    call.reserved.value = 0
    call.reserved.supplier = NULL
    call.reserved.context = call
    if callable(value):
        call.function = <void*> <PyObject*> value
        call.logs = <void*> <PyObject*> logs
        call.reserved.supplier = _supply
    else:
        call.reserved.value = value
    return &call.reserved


cdef int raise_reserved(reserved_call_t* call) except -1:
    """Raise what the function raised; the message itself has been published."""
    if call.error == NULL:
        return 0
    error = <object> call.error
    Py_DECREF(error)
    call.error = NULL
    raise error
