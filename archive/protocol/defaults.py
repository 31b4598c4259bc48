"""The defaults that clients and archives share (spec archive-protocol 5.2, 21.1)."""

from typing import Final

from aerolog.transport.time_units import NS_PER_S

CONTROL_STREAM_ID: Final = 10
RESPONSE_STREAM_ID: Final = 20
RECORDING_EVENTS_STREAM_ID: Final = 30
CONTROL_TERM_LENGTH: Final = 64 * 1024  # bytes
CONTROL_TERM_SPARSE: Final = True
CONTROL_MTU: Final = 1408  # bytes
MESSAGE_TIMEOUT_NS: Final = 10 * NS_PER_S
