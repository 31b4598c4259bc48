"""The Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.appender cimport Appender

cdef extern from *:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
        const char* format;
        const char* name;
        const char* metadata;
        int64_t flags;
        int64_t n_children;
        struct ArrowSchema** children;
        struct ArrowSchema* dictionary;
        void (*release)(struct ArrowSchema*);
        void* private_data;
    };
    struct ArrowArray {
        int64_t length;
        int64_t null_count;
        int64_t offset;
        int64_t n_buffers;
        int64_t n_children;
        const void** buffers;
        struct ArrowArray** children;
        struct ArrowArray* dictionary;
        void (*release)(struct ArrowArray*);
        void* private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
        int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
        const char* (*get_last_error)(struct ArrowArrayStream*);
        void (*release)(struct ArrowArrayStream*);
        void* private_data;
    };
    #endif
    """
    struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept
        void* private_data

    struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept
        void* private_data

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept
        const char* (*get_last_error)(ArrowArrayStream*) noexcept
        void (*release)(ArrowArrayStream*) noexcept
        void* private_data


cdef class ArrowBatch:
    cdef int64_t count
    cdef int64_t capacity
    cdef int64_t data_length
    cdef int64_t data_capacity
    cdef uint8_t* data
    cdef int32_t* offsets
    cdef int64_t* positions
    cdef int32_t* session_ids
    cdef int64_t* reserved_values
    cdef int allocate(self, int64_t capacity) except -1
    cdef int grow_data(self, int64_t needed) except -1


# The result, *result and *length have the meaning that batch_offers.pxd describes.
cdef int64_t append_arrow(
    Appender appender, object array, object start, object limit, int64_t* result,
    int64_t* length,
) except -1
