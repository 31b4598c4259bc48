"""Catalog entries walked and written as lines of text, natively: a catalog may hold a million.

Both functions stop at the first entry that is out of the ordinary, whatever is the matter with it;
their callers look at that one, and have the words for it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerolog.archive.protocol.offsets cimport (
    ENTRY_HEADER_LENGTH,
    ENTRY_RECORDING_ID_OFFSET,
    ENTRY_STATE_OFFSET,
    ENTRY_VALID,
)

cdef enum:
    READ_LENGTH = ENTRY_RECORDING_ID_OFFSET + 8
    FIELDS_MAX = 32
    DIGITS_MAX = 20
    STRINGS = 3


def walk_entries(
    const uint8_t[::1] data, int64_t at, int64_t alignment, int64_t last_valid, list offsets,
    list lengths
):
    """Append offsets and lengths of entries from an offset on, up to one out of the ordinary.

    Args:
        data: the catalog's bytes.
        at: offset of the first entry.
        alignment: of entries; nothing is walked when it is no power of two.
        last_valid: id of the last VALID entry before, -1 when there is none.
        offsets: gets the offsets.
        lengths: gets the lengths, header and fill included.

    Returns:
        Offset behind the last entry appended; how many of them are VALID; the id of the last VALID
        one; that of the last one in any state, -1 when there is none.
    """
    cdef int64_t capacity = data.shape[0]
    cdef int64_t frame_length, recording_id, valid = 0, last_id = -1
    cdef int32_t length
    if alignment < ENTRY_HEADER_LENGTH or alignment & (alignment - 1) != 0 or at < 0:
        return at, valid, last_valid, last_id
    while at + READ_LENGTH <= capacity:
        length = _i32(&data[at])
        frame_length = (<int64_t> length + ENTRY_HEADER_LENGTH + alignment - 1) & -alignment
        if length <= 0 or frame_length < READ_LENGTH or frame_length > capacity - at:
            break
        recording_id = _i64(&data[at + ENTRY_RECORDING_ID_OFFSET])
        if _i32(&data[at + ENTRY_STATE_OFFSET]) == ENTRY_VALID:
            if recording_id <= last_valid:
                break
            last_valid = recording_id
            valid += 1
        offsets.append(at)
        lengths.append(frame_length)
        last_id = recording_id
        at += frame_length
    return at, valid, last_valid, last_id


cdef class DescriptorWriter:
    """Writes descriptors as lines of text."""

    cdef bytes _labels
    cdef int64_t _label_ends[FIELDS_MAX + STRINGS + 1]
    cdef int64_t _offsets[FIELDS_MAX]
    cdef bint _wide[FIELDS_MAX]
    cdef int _count
    cdef int64_t _strings_offset
    cdef int64_t _fixed_length

    def __init__(
        self, list fields not None, list string_labels not None, bytes end not None,
        int64_t strings_offset
    ):
        """Tell the layout.

        Args:
            fields: of the block: what stands before the number, offset in the block, size 4 or 8.
            string_labels: what stands before each string.
            end: what stands behind the last one.
            strings_offset: of the strings, from the block's start.

        Raises:
            ValueError: a field is out of the block.
        """
        if len(fields) > FIELDS_MAX or len(string_labels) != STRINGS:
            raise ValueError(f"{len(fields)} fields, {len(string_labels)} strings: other layout")
        self._count = len(fields)
        self._strings_offset = ENTRY_HEADER_LENGTH + strings_offset
        labels = []
        for index, (label, offset, size) in enumerate(fields):
            if size not in (4, 8) or offset < 0 or offset + size > strings_offset:
                raise ValueError(f"field of {size} bytes at {offset} is out of the block")
            labels.append(label)
            self._offsets[index] = ENTRY_HEADER_LENGTH + offset
            self._wide[index] = size == 8
        labels += [*string_labels, end]
        self._labels = b"".join(labels)
        cdef int64_t total = 0
        for index, label in enumerate(labels):
            total += len(label)
            self._label_ends[index] = total
        self._fixed_length = total + self._count * DIGITS_MAX

    def write(
        self, const uint8_t[::1] data not None, list offsets not None, list lengths not None,
        Py_ssize_t first, int64_t room
    ):
        """Lines of VALID entries from one on, up to one out of the ordinary or to ``room`` bytes.

        Args:
            data: the catalog's bytes.
            offsets: of the entries.
            lengths: of the entries.
            first: index of the first one wanted.
            room: bytes of text at most.

        Returns:
            The text, ASCII; the index of the first entry that is not in it.
        """
        cdef Py_ssize_t index = first
        cdef int64_t at, length, used = 0, wrote
        cdef const char* labels = self._labels
        cdef uint8_t* text = <uint8_t*> malloc(room)
        if text == NULL:
            raise MemoryError
        try:
            while index < len(offsets):
                at = offsets[index]
                length = lengths[index]
                if at < 0 or length < READ_LENGTH or length > data.shape[0] - at:
                    break
                if _i32(&data[at + ENTRY_STATE_OFFSET]) != ENTRY_VALID:
                    break
                if self._fixed_length + length > room - used:
                    break
                wrote = self._line(&data[at], length, labels, text + used)
                if wrote < 0:
                    break
                used += wrote
                index += 1
            return text[:used], index
        finally:
            free(text)

    cdef int64_t _line(
        self, const uint8_t* entry, int64_t length, const char* labels, uint8_t* text
    ) noexcept nogil:
        """Write a line; how long it is, -1 where the entry is out of the ordinary."""
        cdef int64_t used = 0, label = 0, at = self._strings_offset
        cdef int64_t size
        cdef int index, byte
        if at > length:
            return -1
        for index in range(self._count + STRINGS):
            size = self._label_ends[index] - label
            memcpy(text + used, labels + label, size)
            used += size
            label += size
            if index < self._count:
                used += _number(
                    _i64(entry + self._offsets[index]) if self._wide[index]
                    else _i32(entry + self._offsets[index]),
                    text + used,
                )
                continue
            if at + 4 > length:
                return -1
            size = _i32(entry + at)
            at += 4
            if size < 0 or size > length - at:
                return -1
            for byte in range(size):
                if entry[at + byte] < 0x20 or entry[at + byte] >= 0x7f:
                    return -1
                text[used + byte] = entry[at + byte]
            used += size
            at += size
        size = self._label_ends[self._count + STRINGS] - label
        memcpy(text + used, labels + label, size)
        return used + size


cdef inline int32_t _i32(const uint8_t* at) noexcept nogil:
    cdef int32_t value
    memcpy(&value, at, 4)
    return value


cdef inline int64_t _i64(const uint8_t* at) noexcept nogil:
    cdef int64_t value
    memcpy(&value, at, 8)
    return value


cdef inline int64_t _number(int64_t value, uint8_t* text) noexcept nogil:
    """Write a number in decimal; how many characters that takes, 20 at most."""
    cdef uint8_t digits[DIGITS_MAX]
    cdef int count = 0, index
    cdef int64_t sign = 0
    cdef uint64_t left = <uint64_t> value
    if value < 0:
        left = 0 - left
        text[0] = b"-"
        sign = 1
    while True:
        digits[count] = <uint8_t> (48 + left % 10)
        left //= 10
        count += 1
        if left == 0:
            break
    for index in range(count):
        text[sign + index] = digits[count - 1 - index]
    return sign + count
