from aerolog.transport.logbuffer.descriptor import LogBuffers

class Appender:
    logs: LogBuffers
