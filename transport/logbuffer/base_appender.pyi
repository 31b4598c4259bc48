from aerolog.transport.logbuffer.descriptor import LogBuffers

class Appender:
    """A producer of one log; native, see base_appender.pxd. For Python there is ``direct``."""

    logs: LogBuffers
