"""Checks of callers' buffers before native code reads from or writes into them."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_GetBuffer


cdef inline bint has_pointers(const char* format) noexcept:
    """Return whether items hold addresses, as those of Python objects do, by their struct format.

    Bytes of messages that were written there would become pointers. Names of fields are between
    colons and are skipped.
    """
    cdef bint in_name = False
    if format == NULL:
        return False
    while format[0] != 0:
        if format[0] == c":":
            in_name = not in_name
        elif not in_name and (
            format[0] == c"O" or format[0] == c"P" or format[0] == c"&" or format[0] == c"X"
            or format[0] == c"z" or format[0] == c"Z" and format[1] != c"f"
            and format[1] != c"d" and format[1] != c"g"
        ):
            return True
        format += 1
    return False


cdef inline bint is_integer(const char* format) noexcept:
    """Return whether an item is one integer of this machine's byte order."""
    if format == NULL:
        return True
    if format[0] == c"@" or format[0] == c"=" or format[0] == c"<":
        format += 1
    return format[0] != 0 and format[1] == 0 and format[0] in b"bBhHiIlLqQnN"


cdef inline int get_plain_buffer(
    object owner, Py_buffer* buffer, int flags, str name
) except -1:
    """Acquire a buffer whose items hold no addresses; the caller releases it.

    Raises:
        TypeError: if it is not a buffer, or one of objects or pointers.
        BufferError: if it is not of the kind that `flags` asks for.
    """
    PyObject_GetBuffer(owner, buffer, flags | PyBUF_ND | PyBUF_FORMAT)
    if has_pointers(buffer.format):
        PyBuffer_Release(buffer)
        raise TypeError(
            f"{name} holds objects or pointers, not bytes: give it a dtype of numbers or bytes"
        )
    return 0
