"""A fragment: a frame in a term, or an assembled message in an assembler's memory."""

from libc.stdint cimport int32_t, int64_t, uint8_t

# One data frame in a term, or an assembled message. Both have 32 bytes of header at `frame`, and
# the payload follows.
ctypedef struct fragment_t:
    const uint8_t* frame
    int64_t position        # position after this frame, or after the last frame of the message
    int32_t length          # header and payload; checked, unlike the field in the frame
    uint8_t flags
    uint8_t is_assembled
