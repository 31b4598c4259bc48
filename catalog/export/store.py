"""The stores that exports write to: a folder of this machine, or a prefix in an object store.

A file is staged first: it is written, checked and brought to disk under a temporary name, which
Spark and other readers pass over. It gets its own name when it is complete. An object store does
that by copying the object, so that the name never shows a part of it, even where closing a broken
upload completes that upload.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.checksum import RunningChecksum
from aerolog.catalog.export.durable_file import DurableFile
from aerolog.catalog.export.errors import ExportUnderWayError, TargetUnreachableError
from aerolog.catalog.locations import local_folder
from aerolog.catalog.object_store import Objects, url_parts
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import RealFileSystem, named
from aerolog.transport.memory.regular_file import open_regular, read_whole
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from typing_extensions import Buffer

TEMPORARY: Final = "_temporary"
_COPY_MAX: Final = 5 * 1024 * 1024 * 1024
_CHUNK: Final = 4 * 1024 * 1024
_PURPOSE: Final = "exporting to an object store"


class Sink(ABC):
    """A file that is being written, with the methods that the writer of Parquet files calls.

    Attributes:
        length: bytes that were written so far.
    """

    closed = False

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.length = 0

    def write(self, data: Buffer) -> int:
        """Append bytes."""
        view = memoryview(data)
        self._raw.write(view)
        self.length += view.nbytes
        return view.nbytes

    @abstractmethod
    def finished_checksum(self) -> str:
        """Return the checksum of all bytes; nothing may be written after this call."""

    def tell(self) -> int:
        """Return how many bytes were written so far."""
        return self.length

    def flush(self) -> None:  # noqa: B027 - no sink has anything to do
        """Does nothing: the store flushes and closes the file itself."""

    def close(self) -> None:  # noqa: B027 - one sink overrides it
        """Does nothing: the store flushes and closes the file itself."""

    def writable(self) -> bool:
        """Always True."""
        return True

    def readable(self) -> bool:
        """Always False."""
        return False

    def seekable(self) -> bool:
        """Always False."""
        return False


class ObjectSink(Sink):
    """A file of an object store. Its checksum is made of the bytes as they are sent."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self._checksum = RunningChecksum()

    def write(self, data: Buffer) -> int:
        """Append bytes."""
        written = super().write(data)
        self._checksum.update(data)
        return written

    def finished_checksum(self) -> str:
        """Checksum of all bytes."""
        return self._checksum.text


class LocalSink(Sink):
    """A file of this machine. It is brought to disk and checked while it is written."""

    def __init__(self, raw: Any, durable: DurableFile, path: Path) -> None:
        super().__init__(raw)
        self._durable = durable
        self._path = path

    def write(self, data: Buffer) -> int:
        """Append bytes."""
        with named(self._path):
            written = super().write(data)
        self._durable.grown(self.length)
        return written

    def finished_checksum(self) -> str:
        """Return the checksum of all bytes, after those that are not checked yet were read back."""
        with named(self._path):
            self._durable.finish(self.length)
        return self._durable.checksum.text

    def close(self) -> None:
        """End the thread that checks the file; the writer of Parquet files also calls this."""
        self._durable.stop()


class Store(ABC):
    """A place for files; paths are relative to it, with slashes.

    Attributes:
        shown: the name of the store in messages, without secrets.
        identity: the same name from whatever folder the store is opened.
        keeps_parts: whether a process that is killed may leave parts of a file that nobody sees.
    """

    shown: str
    identity: str
    keeps_parts = False

    def __init__(self, temporary: str) -> None:
        """Set the temporary folder; nothing is read or written yet.

        Args:
            temporary: folder of the store in which files wait for their names.
        """
        self._temporary = temporary

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Enter a context in which nobody else exports to this store."""

    @abstractmethod
    def stage(self, path: str) -> AbstractContextManager[Sink]:
        """A new file, which has its name from the beginning and is on disk when the context ends.

        Args:
            path: of the file, in the folder for temporary files.
        """

    @abstractmethod
    def open(self, path: str) -> Any:
        """A file to be read, which is closed by a ``with``.

        Raises:
            FileNotFoundError: there is none.
        """

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Length of a file, None when there is none."""

    @abstractmethod
    def files(self, folder: str = "") -> list[tuple[str, int]]:
        """Paths and lengths of all files below a folder of it, by path; temporary ones are none."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none when it is not there."""

    @abstractmethod
    def move(self, source: str, to: str, *, fresh: bool = False) -> None:
        """Give a file its name; may be repeated after any interruption.

        Raises:
            FileExistsError: it must be ``fresh``, and another file has the name.
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def remove_tree(self, folder: str) -> None:
        """Remove a folder and all that is in it, if it is there."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what the files are in, where its URL allows that (``allow_bucket_creation``)."""

    @abstractmethod
    def settle(self) -> None:
        """Make the names durable that files got so far."""

    @contextmanager
    def create(self, path: str, *, fresh: bool = False) -> Iterator[Sink]:
        """A new file, which has its name when the context ends without an exception.

        Args:
            path: of it.
            fresh: no other file may have it; see ``move``.
        """
        staged = self.staged(path)
        try:
            with self.stage(staged) as sink:
                yield sink
            self.move(staged, path, fresh=fresh)
        except BaseException:
            # The first error is the one to tell; the next export removes what is left.
            with suppress(OSError):
                self.remove(staged)
            raise

    def staged(self, path: str) -> str:
        """The path at which a file waits for its name."""
        return f"{self._temporary}/{path.replace('/', '@')}"

    def sweep(self) -> list[str]:
        """Remove the files that an export was writing when it was killed; returns their names."""
        found = self.names(self._temporary)
        self.remove_tree(self._temporary)
        return found

    def full_path(self, path: str) -> str:
        """A path as the user knows it."""
        return f"{self.shown}/{path}"

    def read(self, path: str) -> bytes | None:
        """The content of a small file, None when there is none."""
        try:
            with self.open(path) as file:
                return read_whole(file, self.full_path(path))
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes, *, fresh: bool = False) -> None:
        """Write or replace a small file, whole or not at all; its name is durable then.

        Raises:
            FileExistsError: it must be ``fresh`` and is there.
        """
        with self.create(path, fresh=fresh) as sink:
            sink.write(data)
        self.settle()

    def checksum(self, path: str) -> tuple[int, str]:
        """Length and checksum of a file as it is now; errors as ``open`` has."""
        running, length = RunningChecksum(), 0
        with self.open(path) as file:
            while chunk := file.read(_CHUNK):
                running.update(chunk)
                length += len(chunk)
        return length, running.text


class FolderStore(Store):
    """A folder, made when the first file is written."""

    def __init__(self, folder: str | Path, temporary: str = TEMPORARY) -> None:
        super().__init__(temporary)
        self._root = Path(folder)
        self._unsynced: set[Path] = set()
        self.shown = str(folder)
        place = os.fsencode(os.path.realpath(self._root))
        self.identity = place.decode("utf-8", "backslashreplace")

    def full_path(self, path: str) -> str:
        """See `Store`."""
        return str(self._root / path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """See `Store`."""
        self._root.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ExportUnderWayError(
                    f"another process exports to {self.shown}; wait until it is done, or export"
                    " to another folder"
                ) from error
            yield
        finally:
            with suppress(OSError):
                # The folder may have files of another export, or none may have been staged.
                (self._root / self._temporary).rmdir()
            os.close(fd)

    @contextmanager
    def stage(self, path: str) -> Iterator[Sink]:
        """See `Store`."""
        staged = self._root / path
        self._make(staged.parent)
        if staged.parent != self._root / self._temporary:
            self._unsynced.add(staged.parent)
        with (
            staged.open("w+b", buffering=0) as file,
            closing(LocalSink(UnbufferedFile(file), DurableFile(file.fileno()), staged)) as sink,
        ):
            yield sink
            with named(staged):
                os.fsync(file.fileno())

    def open(self, path: str) -> Any:
        """See `Store`."""
        return open(self._root / path, "rb", opener=open_regular)

    def size(self, path: str) -> int | None:
        """See `Store`."""
        try:
            return (self._root / path).stat().st_size
        except FileNotFoundError:
            return None

    def files(self, folder: str = "") -> list[tuple[str, int]]:
        """See `Store`."""
        found = []
        for parent, folders, names in os.walk(self._root / folder):
            folders[:] = [name for name in folders if name != self._temporary]
            for name in names:
                file = Path(parent) / name
                found.append((file.relative_to(self._root).as_posix(), file.stat().st_size))
        return sorted(found)

    def names(self, folder: str) -> list[str]:
        """See `Store`."""
        try:
            return sorted(found.name for found in (self._root / folder).iterdir())
        except FileNotFoundError:
            return []

    def move(self, source: str, to: str, *, fresh: bool = False) -> None:
        """See `Store`."""
        final = self._root / to
        self._make(final.parent)
        if fresh:
            os.link(self._root / source, final)
            (self._root / source).unlink()
        else:
            (self._root / source).replace(final)
        self._unsynced.add(final.parent)

    def remove(self, path: str) -> None:
        """See `Store`."""
        (self._root / path).unlink(missing_ok=True)
        self._unsynced.add((self._root / path).parent)

    def remove_tree(self, folder: str) -> None:
        """See `Store`."""
        if (self._root / folder).is_dir():
            shutil.rmtree(self._root / folder)

    def prepare(self) -> None:
        """See `Store`."""
        self._make(self._root)

    def settle(self) -> None:
        """See `Store`."""
        while self._unsynced:
            with suppress(FileNotFoundError):  # The folder was removed since, with all its files.
                RealFileSystem().sync_dir(str(self._unsynced.pop()))

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            self._unsynced.add(folder.parent)


class ObjectStore(Store):
    """A prefix in an object store. It has no lock, so only one export may run at a time."""

    keeps_parts = True

    def __init__(self, url: str, temporary: str = TEMPORARY, refusal: str | None = None) -> None:
        super().__init__(temporary)
        self.shown = without_secrets(url).partition("?")[0].rstrip("/")
        self.identity = self.shown
        self._objects = Objects.at(
            url, _PURPOSE, refusal or f"{self.shown} is nothing to export to: give a folder"
        )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """See `Store`."""
        yield

    @contextmanager
    def stage(self, path: str) -> Iterator[Sink]:
        """See `Store`."""
        with self._reaching():
            stream = self._objects.output(path)
        try:
            sink = ObjectSink(stream)
            yield sink
            if sink.length > _COPY_MAX:
                raise ConfigurationError(
                    f"{self.full_path(path)} has {sink.length} bytes, and object stores copy"
                    f" {_COPY_MAX} at most: export in a partitioned layout, or with shorter files"
                )
            with self._reaching():
                stream.close()
        except BaseException:
            # This ends the broken upload, under its temporary name.
            with suppress(OSError):
                if not stream.closed:
                    stream.close()
            raise

    def open(self, path: str) -> Any:
        """See `Store`."""
        with self._reaching():
            return self._objects.input(path)

    def size(self, path: str) -> int | None:
        """See `Store`."""
        with self._reaching():
            return self._objects.size(path)

    def files(self, folder: str = "") -> list[tuple[str, int]]:
        """See `Store`."""
        with self._reaching():
            found = self._objects.listed(folder, recursive=True)
        return [
            (path, int(info.size))
            for path, info in found
            if info.is_file and not path.startswith(f"{self._temporary}/")
        ]

    def names(self, folder: str) -> list[str]:
        """See `Store`."""
        with self._reaching():
            return [info.base_name for _, info in self._objects.listed(folder)]

    def move(self, source: str, to: str, *, fresh: bool = False) -> None:
        """See `Store`; an object store does not notice two writers of one name."""
        with self._reaching():
            if fresh and self._objects.size(to) is not None:
                raise FileExistsError(to)
            self._objects.move(source, to)

    def remove(self, path: str) -> None:
        """See `Store`."""
        with self._reaching():
            self._objects.remove(path)

    def remove_tree(self, folder: str) -> None:
        """See `Store`."""
        with self._reaching():
            self._objects.remove_tree(folder)

    def prepare(self) -> None:
        """See `Store`."""
        with self._reaching():
            self._objects.prepare()

    def settle(self) -> None:
        """See `Store`; an object is durable as soon as the store has confirmed it."""

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError as error:
            raise TargetUnreachableError(
                f"{self.shown} cannot be used, check its address and credentials: {error}"
            ) from error


def open_store(to: str | Path, temporary: str = TEMPORARY, refusal: str | None = None) -> Store:
    """The store that a path or URL names.

    Args:
        to: folder or URL.
        temporary: see `Store`.
        refusal: begins the text of the error, for a URL of no use.

    Raises:
        ConfigurationError: a URL of no kind of store that is known.
        MissingExtraError: Arrow is not installed, which reaches object stores.
    """
    folder = local_folder(to) if isinstance(to, str) else str(to)
    if folder is not None:
        return FolderStore(folder, temporary)
    assert isinstance(to, str)
    if not url_parts(to).netloc:
        raise ConfigurationError(f"{without_secrets(to)} names no bucket or host")
    return ObjectStore(to, temporary, refusal)


class UnbufferedFile:
    """Writes all of a piece, however many calls that takes."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, view: memoryview) -> None:
        """Write it."""
        while view.nbytes:
            view = view[self._file.write(view) :]
