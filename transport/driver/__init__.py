"""The media driver: the process, or part of one, that connects publications and subscriptions."""

from aerolog.transport.driver.main import main
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.threading_mode import ThreadingMode

__all__ = ["MediaDriver", "ThreadingMode", "main"]
