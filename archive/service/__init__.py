"""The archive service: ``Archive`` next to a driver, ``ArchivingMediaDriver`` with its own."""

from aerolog.archive.service.archive import Archive
from aerolog.archive.service.archiving_driver import ArchivingMediaDriver
from aerolog.archive.service.main import main_archive, main_archiving_driver

__all__ = ["Archive", "ArchivingMediaDriver", "main_archive", "main_archiving_driver"]
