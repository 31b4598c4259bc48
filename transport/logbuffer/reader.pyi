from aerolog.transport.logbuffer.assembler import Assembler
from aerolog.transport.logbuffer.descriptor import LogBuffers

class LogReader:
    """A consumer of one log; native, see reader.pxd. For Python there is ``direct``."""

    logs: LogBuffers
    assembler: Assembler
