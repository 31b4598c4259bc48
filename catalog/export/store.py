"""Where an export goes: a folder of this machine, or an object store through ``pyarrow.fs``.

A file is written under a temporary name in ``_temporary``, which Spark and others pass over, and
gets its own name when it is complete and on disk. An object store moves it by copying it on its
side: its own name never has a part of it, even where closing a broken upload completes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from aerolog.catalog.export.crc32c import RunningChecksum
from aerolog.catalog.export.durable_file import SettlingFile
from aerolog.catalog.export.errors import ExportUnderWayError, TargetUnreachableError
from aerolog.catalog.extras import require
from aerolog.catalog.locations import local_folder, object_store, without_secrets
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

TEMPORARY: Final = "_temporary"
_COPY_MAX: Final = 5 * 1024 * 1024 * 1024
_CHUNK: Final = 4 * 1024 * 1024
_PURPOSE: Final = "exporting to an object store"


class Sink(ABC):
    """A file being written, as Parquet's writer wants it; counts what passes.

    Attributes:
        path: that it will have, which may be changed until then.
        length: bytes so far.
    """

    closed = False

    def __init__(self, path: str, raw: Any) -> None:
        self.path = path
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
        """Of all bytes: nothing is written any more."""

    def tell(self) -> int:
        """Bytes so far."""
        return self.length

    def flush(self) -> None:  # noqa: B027 - there is nothing to do for any sink
        """Nothing: the target sees to it."""

    def close(self) -> None:  # noqa: B027 - nor here, but for one
        """Nothing: the target sees to it."""

    def writable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """No."""
        return False

    def seekable(self) -> bool:
        """No."""
        return False


class ObjectSink(Sink):
    """A file of an object store, which is checked as it passes."""

    def __init__(self, path: str, raw: Any) -> None:
        super().__init__(path, raw)
        self._checksum = RunningChecksum()

    def write(self, data: Buffer) -> int:
        """Append bytes."""
        written = super().write(data)
        self._checksum.update(data)
        return written

    def finished_checksum(self) -> str:
        """Of all bytes."""
        return self._checksum.text


class LocalSink(Sink):
    """A file of this machine, which goes to disk and is checked while it is written."""

    def __init__(self, path: str, raw: Any, settling: SettlingFile) -> None:
        super().__init__(path, raw)
        self._settling = settling

    def write(self, data: Buffer) -> int:
        """Append bytes."""
        written = super().write(data)
        self._settling.grown(self.length)
        return written

    def finished_checksum(self) -> str:
        """Of all bytes, which are read back where nobody has yet."""
        self._settling.finish(self.length)
        return self._settling.checksum.text

    def close(self) -> None:
        """End what looks after it; Parquet's writer calls this, too, for it is done."""
        self._settling.stop()


class Target(ABC):
    """A place for files; paths are relative to it, with slashes.

    Attributes:
        shown: how it is named in messages, without secrets.
        identity: what names it wherever it is named from.
        keeps_parts: whether a process that is killed may leave parts of a file that nobody sees.
    """

    shown: str
    identity: str
    keeps_parts = False

    @abstractmethod
    def lock(self) -> Any:
        """A context in which nobody else exports to it."""

    @abstractmethod
    def create(self, path: str) -> Any:
        """A context with a ``Sink``; the file has its name when it ends without an exception."""

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
        """Paths and lengths of all files below a folder of it, by path."""

    @abstractmethod
    def sweep(self) -> list[str]:
        """Remove what an export that was killed was writing; says what was found."""

    @abstractmethod
    def settle(self) -> None:
        """Make the names of the files durable that were written so far."""

    def full_path(self, path: str) -> str:
        """A path as the user knows it."""
        return f"{self.shown}/{path}"

    def read(self, path: str) -> bytes | None:
        """The content of a small file, None when there is none."""
        try:
            with self.open(path) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Write or replace a small file, whole or not at all."""
        with self.create(path) as sink:
            sink.write(data)

    def checksum(self, path: str) -> tuple[int, str]:
        """Length and checksum of a file as it is now; errors as ``open`` has."""
        running, length = RunningChecksum(), 0
        with self.open(path) as file:
            while chunk := file.read(_CHUNK):
                running.update(chunk)
                length += len(chunk)
        return length, running.text


class LocalTarget(Target):
    """A folder, made when the first file is written."""

    def __init__(self, folder: str | Path) -> None:
        self._root = Path(folder)
        self._unsynced: set[Path] = set()
        self.shown = str(folder)
        self.identity = os.fsencode(self._root.resolve()).decode("utf-8", "backslashreplace")

    def full_path(self, path: str) -> str:
        """See `Target`."""
        return str(self._root / path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """See `Target`."""
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
            _remove_empty(self._root / TEMPORARY)
            os.close(fd)

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        """See `Target`."""
        temporary = self._root / TEMPORARY / _flat(path)
        temporary.parent.mkdir(exist_ok=True)
        try:
            with (
                temporary.open("w+b", buffering=0) as file,
                closing(LocalSink(path, _Unbuffered(file), SettlingFile(file.fileno()))) as sink,
            ):
                yield sink
                os.fsync(file.fileno())
            final = self._root / sink.path
            self._make(final.parent)
            temporary.replace(final)
            self._unsynced.add(final.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def settle(self) -> None:
        """See `Target`."""
        while self._unsynced:
            RealFileSystem().sync_dir(str(self._unsynced.pop()))

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            self._unsynced.add(folder.parent)

    def open(self, path: str) -> Any:
        """See `Target`."""
        return (self._root / path).open("rb")

    def size(self, path: str) -> int | None:
        """See `Target`."""
        try:
            return (self._root / path).stat().st_size
        except FileNotFoundError:
            return None

    def files(self, folder: str = "") -> list[tuple[str, int]]:
        """See `Target`."""
        found = []
        for parent, folders, names in os.walk(self._root / folder):
            folders[:] = [name for name in folders if name != TEMPORARY]
            for name in names:
                file = Path(parent) / name
                found.append((file.relative_to(self._root).as_posix(), file.stat().st_size))
        return sorted(found)

    def sweep(self) -> list[str]:
        """See `Target`."""
        temporary = self._root / TEMPORARY
        if not temporary.is_dir():
            return []
        found = sorted(path.name for path in temporary.iterdir())
        shutil.rmtree(temporary)
        return found


class ObjectTarget(Target):
    """A prefix in an object store. Nothing there can keep two exports apart: run one at a time."""

    keeps_parts = True

    def __init__(self, url: str) -> None:
        fs = require("pyarrow.fs", _PURPOSE)
        self.shown = without_secrets(url).partition("?")[0].rstrip("/")
        self.identity = self.shown
        self._store, root = object_store(
            url, _PURPOSE, f"{self.shown} is nothing to export to: give a folder"
        )
        self._root = root.rstrip("/")
        self._fs = fs

    @contextmanager
    def lock(self) -> Iterator[None]:
        """See `Target`."""
        yield

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        """See `Target`."""
        temporary = f"{self._root}/{TEMPORARY}/{_flat(path)}"
        with self._reaching():
            stream = self._store.open_output_stream(temporary)
        try:
            sink = ObjectSink(path, stream)
            yield sink
            with self._reaching():
                stream.close()
                self._publish(temporary, sink)
        except BaseException:
            self._discard(stream, temporary)
            raise

    def settle(self) -> None:
        """See `Target`; a store that said yes keeps an object."""

    def open(self, path: str) -> Any:
        """See `Target`."""
        with self._reaching():
            return self._store.open_input_file(f"{self._root}/{path}")

    def size(self, path: str) -> int | None:
        """See `Target`."""
        with self._reaching():
            info = self._store.get_file_info(f"{self._root}/{path}")
        return int(info.size) if info.type == self._fs.FileType.File else None

    def files(self, folder: str = "") -> list[tuple[str, int]]:
        """See `Target`."""
        base = f"{self._root}/{folder}".rstrip("/")
        selector = self._fs.FileSelector(base, recursive=True, allow_not_found=True)
        with self._reaching():
            infos = self._store.get_file_info(selector)
        found = []
        for info in infos:
            path = info.path[len(self._root) + 1 :]
            if info.type == self._fs.FileType.File and not path.startswith(f"{TEMPORARY}/"):
                found.append((path, int(info.size)))
        return sorted(found)

    def sweep(self) -> list[str]:
        """See `Target`."""
        folder = f"{self._root}/{TEMPORARY}"
        selector = self._fs.FileSelector(folder, recursive=True, allow_not_found=True)
        with self._reaching():
            infos = self._store.get_file_info(selector)
            found = sorted(info.base_name for info in infos if info.type == self._fs.FileType.File)
            if infos:
                self._store.delete_dir(folder)
        return found

    def _publish(self, temporary: str, sink: Sink) -> None:
        if sink.length > _COPY_MAX:
            raise ConfigurationError(
                f"{self.full_path(sink.path)} would have {sink.length} bytes, and object stores"
                f" copy {_COPY_MAX} at most: export in a partitioned layout, or with shorter files"
            )
        self._store.move(temporary, f"{self._root}/{sink.path}")

    def _discard(self, stream: Any, temporary: str) -> None:
        """Ends a broken upload under its temporary name, and removes what that made."""
        try:
            if not stream.closed:
                stream.close()
            if self._store.get_file_info(temporary).type == self._fs.FileType.File:
                self._store.delete_file(temporary)
        except OSError:
            # What broke the upload is told; the next export sweeps what is left.
            return

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise TargetUnreachableError(
                f"{self.shown} cannot be used, check its address and credentials: {error}"
            ) from error


def open_target(to: str | Path) -> Target:
    """The target that a path or URL names.

    Raises:
        ConfigurationError: a URL of no kind of store that is known.
        MissingExtraError: Arrow is not installed, which reaches object stores.
    """
    folder = local_folder(to) if isinstance(to, str) else str(to)
    if folder is not None:
        return LocalTarget(folder)
    assert isinstance(to, str)
    if not urlsplit(to).netloc:
        raise ConfigurationError(f"{without_secrets(to)} names no bucket or host")
    return ObjectTarget(to)


class _Unbuffered:
    """Writes all of a piece, however many calls that takes."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, view: memoryview) -> None:
        while view.nbytes:
            view = view[self._file.write(view) :]


def _flat(path: str) -> str:
    return path.replace("/", "@")


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        # Other files are in it, or it is gone: both are as they should be.
        return
