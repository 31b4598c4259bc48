from aerolog.transport.logbuffer.descriptor import LogBuffers

class Appender:
    """A producer of one log; native, see appender.pxd. For Python there is ``direct``."""

    logs: LogBuffers

class ConcurrentAppender(Appender): ...
class ExclusiveAppender(Appender): ...
