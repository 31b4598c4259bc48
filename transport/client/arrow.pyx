"""Messages to and from Arrow memory, without any Arrow library (Arrow C data interface).

Publications accept any object with ``__arrow_c_array__`` or ``__arrow_c_stream__``; a poll returns
an ``ArrowBatch``, which has the former. Exported memory belongs to its consumer, which may release
it at any time and from any thread.
"""

import importlib

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset, strcmp, strncmp

from aerolog.transport.logbuffer.appender cimport (
    Appender,
    BAD_BLOCK,
    records_t,
    values_t,
)

cdef enum:
    COLUMN_COUNT = 4
    FIRST_DATA_CAPACITY = 65536

cdef const char** _COLUMN_NAMES = [b"data", b"position", b"session_id", b"reserved_value"]
cdef const char** _COLUMN_FORMATS = [b"z", b"l", b"i", b"l"]


# -- schemas and arrays that are handed out -------------------------------------------------------

cdef void _release_schema(ArrowSchema* schema) noexcept:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
        free(schema.children[i])
    free(schema.children)
    schema.release = NULL


cdef void _release_array(ArrowArray* array) noexcept with gil:
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
        free(array.children[i])
    free(array.children)
    free(array.buffers)
    array.release = NULL
    if array.private_data != NULL:
        Py_DECREF(<object> array.private_data)


cdef void _free_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*> PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void _free_array_capsule(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*> PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void _fill_schema(ArrowSchema* schema, const char* format, const char* name) noexcept:
    memset(schema, 0, sizeof(ArrowSchema))
    schema.format = format
    schema.name = name
    schema.release = _release_schema


cdef int _fill_array(
    ArrowArray* array, object owner, int64_t length, int64_t buffer_count
) except -1:
    """Fill in an array that keeps `owner` alive, whose memory its buffers point into."""
    memset(array, 0, sizeof(ArrowArray))
    array.buffers = <const void**> calloc(buffer_count, sizeof(void*))
    if array.buffers == NULL:
        raise MemoryError("no memory for an Arrow array")
    array.length = length
    array.n_buffers = buffer_count
    array.release = _release_array
    Py_INCREF(owner)
    array.private_data = <void*> <PyObject*> owner
    return 0


cdef class ArrowBatch:
    """Messages as an Arrow record batch: data (binary), position (int64), session_id (int32),
    reserved_value (int64).

    ``pyarrow.record_batch(batch)``, and whatever else speaks the Arrow C data interface, takes it
    without a copy. ``len`` gives the number of messages.
    """

    cdef int allocate(self, int64_t capacity) except -1:
        """Allocate room for ``capacity`` messages."""
        self.capacity = capacity
        self.offsets = <int32_t*> malloc((capacity + 1) * sizeof(int32_t))
        self.positions = <int64_t*> malloc((capacity or 1) * sizeof(int64_t))
        self.session_ids = <int32_t*> malloc((capacity or 1) * sizeof(int32_t))
        self.reserved_values = <int64_t*> malloc((capacity or 1) * sizeof(int64_t))
        if (
            self.offsets == NULL or self.positions == NULL
            or self.session_ids == NULL or self.reserved_values == NULL
        ):
            raise MemoryError(f"no memory for a batch of {capacity} messages")
        self.offsets[0] = 0
        return self.grow_data(0)

    cdef int grow_data(self, int64_t needed) except -1:
        """Make room for `needed` more bytes; 1 if the batch cannot hold them (int32 offsets)."""
        cdef int64_t wanted = max(
            self.data_length + needed, 2 * self.data_capacity, <int64_t> FIRST_DATA_CAPACITY
        )
        cdef uint8_t* grown
        if self.data_length + needed > INT32_MAX:
            return 1
        wanted = min(wanted, <int64_t> INT32_MAX)
        grown = <uint8_t*> realloc(self.data, wanted)
        if grown == NULL:
            raise MemoryError(f"no memory for {wanted} bytes of messages")
        self.data = grown
        self.data_capacity = wanted
        return 0

    def __dealloc__(self):
        free(self.data)
        free(self.offsets)
        free(self.positions)
        free(self.session_ids)
        free(self.reserved_values)

    def __len__(self):
        return self.count

    def __arrow_c_schema__(self):
        """Return the schema as a capsule."""
        cdef ArrowSchema* schema = <ArrowSchema*> malloc(sizeof(ArrowSchema))
        cdef int i
        if schema == NULL:
            raise MemoryError("no memory for an Arrow schema")
        _fill_schema(schema, b"+s", b"")
        capsule = PyCapsule_New(schema, "arrow_schema", _free_schema_capsule)
        schema.children = <ArrowSchema**> calloc(COLUMN_COUNT, sizeof(ArrowSchema*))
        if schema.children == NULL:
            raise MemoryError("no memory for an Arrow schema")
        for i in range(COLUMN_COUNT):
            schema.children[i] = <ArrowSchema*> malloc(sizeof(ArrowSchema))
            if schema.children[i] == NULL:
                raise MemoryError("no memory for an Arrow schema")
            _fill_schema(schema.children[i], _COLUMN_FORMATS[i], _COLUMN_NAMES[i])
            schema.n_children = i + 1
        return capsule

    def __arrow_c_array__(self, requested_schema=None):
        """Return the schema and the data as capsules; a requested schema is ignored."""
        cdef ArrowArray* array
        cdef ArrowArray* child
        cdef int i
        schema = self.__arrow_c_schema__()
        array = <ArrowArray*> calloc(1, sizeof(ArrowArray))
        if array == NULL:
            raise MemoryError("no memory for an Arrow array")
        capsule = PyCapsule_New(array, "arrow_array", _free_array_capsule)
        _fill_array(array, self, self.count, 1)
        array.children = <ArrowArray**> calloc(COLUMN_COUNT, sizeof(ArrowArray*))
        if array.children == NULL:
            raise MemoryError("no memory for an Arrow array")
        for i in range(COLUMN_COUNT):
            child = <ArrowArray*> calloc(1, sizeof(ArrowArray))
            if child == NULL:
                raise MemoryError("no memory for an Arrow array")
            array.children[i] = child
            array.n_children = i + 1
            _fill_array(child, self, self.count, 3 if i == 0 else 2)
        array.children[0].buffers[1] = self.offsets
        array.children[0].buffers[2] = self.data
        array.children[1].buffers[1] = self.positions
        array.children[2].buffers[1] = self.session_ids
        array.children[3].buffers[1] = self.reserved_values
        return schema, capsule

    def to_pyarrow(self):
        """Return the batch as a ``pyarrow.RecordBatch``; this needs pyarrow."""
        return importlib.import_module("pyarrow").record_batch(self)

    def __repr__(self):
        return f"<ArrowBatch of {self.count} messages, {self.data_length} bytes>"


# -- arrays that are taken in ---------------------------------------------------------------------

cdef int64_t append_arrow(
    Appender appender, object array, object start, object limit, int64_t* result,
    int64_t* length,
) except -1:
    cdef int64_t skip = start
    cdef int64_t most = INT32_MAX if limit is None else limit
    if skip < 0 or most < 0:
        raise ValueError(f"start and limit are not negative: start={start}, limit={limit}")
    if hasattr(array, "__arrow_c_array__"):
        schema, data = array.__arrow_c_array__()
        return _append_array(
            appender,
            <ArrowSchema*> PyCapsule_GetPointer(schema, "arrow_schema"),
            <ArrowArray*> PyCapsule_GetPointer(data, "arrow_array"),
            &skip, most, result, length,
        )
    if hasattr(array, "__arrow_c_stream__"):
        capsule = array.__arrow_c_stream__()
        return _append_stream(
            appender,
            <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream"),
            &skip, most, result, length,
        )
    raise TypeError(
        f"offer_arrow takes an Arrow array or stream of them (with __arrow_c_array__ or "
        f"__arrow_c_stream__), not {type(array).__name__}"
    )


cdef int64_t _append_stream(
    Appender appender, ArrowArrayStream* stream, int64_t* skip, int64_t most, int64_t* result,
    int64_t* length,
) except -1:
    cdef ArrowSchema schema
    cdef ArrowArray chunk
    cdef int64_t total = 0
    cdef int64_t taken
    cdef int64_t wanted
    if stream.release == NULL:
        raise ValueError("the Arrow stream has been released or taken over already")
    if stream.get_schema(stream, &schema) != 0:
        raise ValueError(f"the Arrow stream gives no schema: {_error_of(stream)}")
    try:
        while total < most:
            if stream.get_next(stream, &chunk) != 0:
                raise ValueError(f"the Arrow stream broke off: {_error_of(stream)}")
            if chunk.release == NULL:
                break
            try:
                wanted = min(max(chunk.length - skip[0], 0), most - total)
                taken = _append_array(
                    appender, &schema, &chunk, skip, most - total, result, length
                )
            finally:
                chunk.release(&chunk)
            total += taken
            if taken < wanted:
                break
    finally:
        schema.release(&schema)
    return total


cdef object _error_of(ArrowArrayStream* stream):
    cdef const char* text = stream.get_last_error(stream)
    return "no reason given" if text == NULL else text.decode("utf-8", "replace")


cdef int64_t _append_array(
    Appender appender, ArrowSchema* schema, ArrowArray* array, int64_t* skip, int64_t most,
    int64_t* result, int64_t* length,
) except -1:
    """Send the values from `skip` on; the number of values skipped is subtracted from `skip`."""
    cdef int64_t first
    cdef int64_t count
    cdef int64_t taken
    if schema.release == NULL or schema.format == NULL or array.release == NULL:
        raise ValueError("the Arrow array has been released or taken over already")
    if array.length < 0 or array.offset < 0 or array.length > INT64_MAX - array.offset:
        raise ValueError(f"an Arrow array of length {array.length} at offset {array.offset}")
    if strcmp(schema.format, b"+s") == 0:
        return _append_column(appender, schema, array, skip, most, result, length)
    _require_no_nulls(array)
    first = min(skip[0], array.length)
    skip[0] -= first
    count = min(array.length - first, most)
    if count == 0:
        return 0
    first += array.offset
    if strncmp(schema.format, b"w:", 2) == 0:
        taken = _append_fixed(appender, schema, array, first, count, result, length)
    elif strcmp(schema.format, b"z") == 0 or strcmp(schema.format, b"u") == 0:
        taken = _append_variable(appender, array, first, count, False, result, length)
    elif strcmp(schema.format, b"Z") == 0 or strcmp(schema.format, b"U") == 0:
        taken = _append_variable(appender, array, first, count, True, result, length)
    else:
        raise TypeError(
            f"offer_arrow takes binary, large_binary, string, large_string or fixed-size binary "
            f"values, not format {schema.format.decode('utf-8', 'replace')!r}"
        )
    if taken == 0 and result[0] == BAD_BLOCK:
        raise ValueError("the offsets of the Arrow array do not hold together")
    return taken


cdef int64_t _append_column(
    Appender appender, ArrowSchema* schema, ArrowArray* array, int64_t* skip, int64_t most,
    int64_t* result, int64_t* length,
) except -1:
    """Send the column ``data`` of a record batch, or its only column."""
    cdef int64_t i
    cdef int64_t chosen = 0 if schema.n_children == 1 else -1
    for i in range(schema.n_children):
        if schema.children[i].name != NULL and strcmp(schema.children[i].name, b"data") == 0:
            chosen = i
    if chosen < 0 or array.n_children != schema.n_children:
        raise TypeError("a record batch needs a column 'data', or only one")
    if array.offset != 0:
        raise TypeError("a record batch with an offset of its own: give its column instead")
    if array.children[chosen].length < array.length:
        raise ValueError("the column 'data' is shorter than its record batch")
    return _append_array(
        appender, schema.children[chosen], array.children[chosen], skip, most, result, length
    )


cdef int _require_no_nulls(ArrowArray* array) except -1:
    """Refuse an array with nulls, since a null is no message; count nulls if not yet counted."""
    cdef const uint8_t* valid
    cdef int64_t i
    if array.null_count == 0 or array.n_buffers < 1 or array.buffers[0] == NULL:
        return 0
    valid = <const uint8_t*> array.buffers[0]
    for i in range(array.offset, array.offset + array.length):
        if not valid[i >> 3] >> (i & 7) & 1:
            raise ValueError(f"value {i - array.offset} is null: drop nulls before publishing")
    return 0


cdef int64_t _append_fixed(
    Appender appender, ArrowSchema* schema, ArrowArray* array, int64_t first, int64_t count,
    int64_t* result, int64_t* length,
) except -1:
    cdef records_t records
    cdef int64_t taken
    if array.n_buffers < 2 or array.buffers[1] == NULL:
        raise ValueError("the Arrow array has no data")
    records.header.length = 0
    records.record_length = int(schema.format[2:])
    if records.record_length < 0:
        raise ValueError(f"values of {records.record_length} bytes")
    records.stride = records.record_length
    records.count = count
    records.data = <const uint8_t*> array.buffers[1] + first * records.stride
    length[0] = records.record_length
    with nogil:
        taken = appender.append_records(&records, 0, NULL, result)
    return taken


cdef int64_t _append_variable(
    Appender appender, ArrowArray* array, int64_t first, int64_t count, bint large,
    int64_t* result, int64_t* length,
) except -1:
    cdef values_t values
    cdef int64_t taken
    if array.n_buffers < 3 or array.buffers[1] == NULL:
        raise ValueError("the Arrow array has no offsets")
    values.data = <const uint8_t*> array.buffers[2]
    values.count = count
    values.offsets_i32 = NULL
    values.offsets_i64 = NULL
    if large:
        values.offsets_i64 = <const int64_t*> array.buffers[1] + first
        values.data_length = values.offsets_i64[count]
    else:
        values.offsets_i32 = <const int32_t*> array.buffers[1] + first
        values.data_length = values.offsets_i32[count]
    if values.data == NULL and values.data_length > 0:
        raise ValueError("the Arrow array has no data")
    with nogil:
        taken = appender.append_values(&values, 0, NULL, result)
    if taken < count:
        if large:
            length[0] = values.offsets_i64[taken + 1] - values.offsets_i64[taken]
        else:
            length[0] = values.offsets_i32[taken + 1] - values.offsets_i32[taken]
    return taken
