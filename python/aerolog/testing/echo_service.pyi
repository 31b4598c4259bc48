from aerolog.cluster.service.native_service import NativeService

class EchoMessages(NativeService):
    shortest: int
    count: int
