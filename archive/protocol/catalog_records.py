"""Messages that only the catalog file holds and nobody sends (spec archive-files 3)."""

from typing import Annotated

from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.protocol.schema import message
from aerolog.transport.protocol.sbe import At, Int8, Int32, Int64, Message


@message(20)
class CatalogHeader(Message):
    """Head of the catalog file, stored without a message header."""

    version: Int32
    length: Int32
    next_recording_id: Int64
    alignment: Int32
    reserved: Annotated[Int8, At(31)] = 0


@message(21)
class RecordingDescriptorHeader(Message):
    """Head of a catalog entry, stored without a message header."""

    length: Int32
    state: RecordingState
    checksum: Int32 = 0
    reserved: Annotated[Int8, At(31)] = 0
