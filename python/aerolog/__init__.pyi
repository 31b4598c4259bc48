from aerolog._version import __version__ as __version__
from aerolog.archive.client import AeronArchive as AeronArchive
from aerolog.archive.service import ArchivingMediaDriver as ArchivingMediaDriver
from aerolog.catalog import open_recording as open_recording
from aerolog.transport.client import Aeron as Aeron
from aerolog.transport.driver import MediaDriver as MediaDriver
