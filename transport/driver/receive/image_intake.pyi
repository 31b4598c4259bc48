from aerolog.transport.driver.conductor.driver_stream import ConductedStream
from aerolog.transport.logbuffer.descriptor import LogBuffers

class ImageIntake(ConductedStream):
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def logs(self) -> LogBuffers: ...
