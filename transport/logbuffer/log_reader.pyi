from aerolog.transport.logbuffer.assembler import Assembler
from aerolog.transport.logbuffer.descriptor import LogBuffers

class LogReader:
    logs: LogBuffers
    assembler: Assembler
