# What a subscriber expects next; included by the loops, needs get_i64, DATA_HEADER_LENGTH and fragment_t.

cdef struct expectation_t:
    int64_t next_number
    int32_t length
    int32_t failed


cdef void _check(void* context, const fragment_t* fragment) noexcept nogil:
    cdef expectation_t* expected = <expectation_t*> context
    if (
        fragment.length - DATA_HEADER_LENGTH != expected.length
        or get_i64(fragment.frame + DATA_HEADER_LENGTH) != expected.next_number
    ):
        expected.failed = 1
    expected.next_number += 1
