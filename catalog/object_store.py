"""Object stores: the objects below a prefix, and an archive's folder there as a file system.

All access to object stores, for reading archives and for writing exports, goes through `Objects`,
which uses ``pyarrow.fs``.
"""
# ruff: noqa: ARG002  (the signatures are those of FileSystem)

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections import OrderedDict
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn
from urllib.parse import SplitResult, parse_qs, urlsplit

from aerolog.catalog.extras import require
from aerolog.transport.errors import AerologError, ConfigurationError, StorageSpaceError
from aerolog.transport.memory.data_file import DataFile
from aerolog.transport.memory.filesystem import FileStamp, FileSystem
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.secrets import hidden_in, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class PlaceUnreachableError(AerologError, ConnectionError):
    """The object store does not answer, or refuses access."""


CACHE_BYTES = 2 * 1024 * 1024 * 1024
_CHUNK_BYTES = 8 * 1024 * 1024
_PROBE_TIMEOUT_S = 120
# Errors of Python are left to the caller, except for those that its own call would not survive.
_PROBE = """
import sys
from pyarrow import fs
store, root = fs.FileSystem.from_uri(sys.stdin.read())
try:
    store.get_file_info(root)
except Exception as error:
    if "AuthenticationException" in str(error):
        raise
"""


@cache
def _check_azure(url: str, refusal: str) -> None:
    """See in another process whether Azure gives access.

    Without credentials, the library of Azure ends its process.

    Raises:
        PlaceUnreachableError: it gives none.
    """
    if not sys.executable:
        return
    try:
        done = subprocess.run(  # noqa: S603 (the program is our own interpreter)
            [sys.executable, "-c", _PROBE],
            input=url,  # it may have secrets, which others see in arguments
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return  # it does not end the process at least
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if "credential" in line.lower()]
    raise PlaceUnreachableError(
        "Azure gives no access: put the account's key or a token into the URL, set"
        " credential_kind=anonymous there for a public container, or set the variables of Azure's"
        f" default credential: {lines[-1][:300] if lines else refusal}"
    )


def _reached(url: str, purpose: str, refusal: str) -> tuple[Any, str]:
    """Have ``pyarrow.fs`` reach a store, which knows the rest of the URL."""
    fs, pyarrow = require("pyarrow.fs", purpose), require("pyarrow", purpose)
    try:
        store, root = fs.FileSystem.from_uri(url)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise ConfigurationError(_known_schemes(refusal)) from hidden_in(error)
    return store, str(root)


def _azure(url: str, purpose: str, refusal: str) -> tuple[Any, str]:
    reached = _reached(url, purpose, refusal)
    _check_azure(url, refusal)
    return reached


#: The stores, by the scheme of a URL, for reading archives and for writing exports alike. Each
#: function takes a URL, what needs the store and the beginning of an error, and gives a
#: ``pyarrow.fs.FileSystem`` and the prefix in it; ``fs.PyFileSystem`` wraps other kinds of store.
SCHEMES: Final[dict[str, Callable[[str, str, str], tuple[Any, str]]]] = {
    "s3": _reached,
    "gs": _reached,
    "gcs": _reached,
    "abfs": _azure,
    "abfss": _azure,
    "hdfs": _reached,
    "viewfs": _reached,
}


def url_parts(url: str) -> SplitResult:
    """Split a URL into its parts.

    Raises:
        ConfigurationError: it cannot be split.
    """
    try:
        return urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(f"{without_secrets(url)} is no URL: {error}") from hidden_in(error)


def _known_schemes(refusal: str) -> str:
    known = ", ".join(("file", *SCHEMES))
    return f"{refusal}, or a URL whose scheme is one of {known}"


class Objects:
    """The objects below one prefix of an object store; an object exists once it is complete.

    Paths are relative to the prefix and have slashes; "" is the prefix itself. Errors are those of
    ``pyarrow.fs``: OSError and its subclasses such as FileNotFoundError.
    """

    def __init__(self, store: Any, root: str, purpose: str, *, makes_bucket: bool = False) -> None:
        """Create the view; it does not connect to the store yet.

        Args:
            store: a ``pyarrow.fs.FileSystem``.
            root: the prefix in the store's form: ``bucket/folder``.
            purpose: what needs the store, see ``require``.
            makes_bucket: whether ``prepare`` creates the bucket.
        """
        self._store = store
        self._fs = require("pyarrow.fs", purpose)
        self._makes_bucket = makes_bucket
        self.root = root.rstrip("/")

    @classmethod
    def at(cls, url: str, purpose: str, refusal: str) -> Objects:
        """The objects below a URL, whose scheme chooses the store from `SCHEMES`.

        Args:
            url: the URL of a folder in an object store.
            purpose: what needs the store, see ``require``.
            refusal: the beginning of the error's text, before the forms that are possible.

        Raises:
            ConfigurationError: the URL has no known form.
            PlaceUnreachableError: Azure gives no access.
            MissingExtraError: Arrow is not installed.
        """
        parts = url_parts(url)
        reach = SCHEMES.get(parts.scheme)
        if reach is None:
            raise ConfigurationError(_known_schemes(refusal))
        store, root = reach(url, purpose, refusal)
        asked = parse_qs(parts.query).get("allow_bucket_creation", [""])[-1]
        return cls(store, root, purpose, makes_bucket=asked.lower() == "true")

    @property
    def kind(self) -> str:
        """The kind of store, as ``pyarrow.fs`` names it."""
        return str(self._store.type_name)

    def info(self, path: str) -> Any:
        """The facts of the file or folder at a path; None when neither exists."""
        found = self._store.get_file_info(self._at(path))
        return None if found.type == self._fs.FileType.NotFound else found

    def size(self, path: str) -> int | None:
        """The length of a file in bytes, None when there is no file."""
        found = self.info(path)
        return int(found.size) if found is not None and found.is_file else None

    def listed(self, path: str = "", *, recursive: bool = False, missing_ok: bool = True) -> Any:
        """List a folder by paths relative to the prefix; a missing folder is empty.

        Args:
            path: the folder's path.
            recursive: whether to include the contents of its folders.
            missing_ok: False makes a missing folder a FileNotFoundError.
        """
        selector = self._fs.FileSelector(
            self._at(path), recursive=recursive, allow_not_found=missing_ok
        )
        found = self._store.get_file_info(selector)
        return sorted((info.path[len(self.root) + 1 :], info) for info in found)

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self._store.open_input_stream(self._at(path)) as stream:
            return bytes(stream.read())

    def input(self, path: str) -> Any:
        """Open a file for reading from any position."""
        return self._store.open_input_file(self._at(path))

    def output(self, path: str) -> Any:
        """Open a new file for writing; the object exists once the file is closed."""
        return self._store.open_output_stream(self._at(path))

    def move(self, source: str, to: str) -> None:
        """Rename a file and replace any file of the new name; the store copies it on its side."""
        self._store.move(self._at(source), self._at(to))

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        if self.size(path) is not None:
            self._store.delete_file(self._at(path))

    def remove_tree(self, path: str) -> None:
        """Remove a folder and its contents if it exists."""
        found = self.info(path)
        if found is not None and not found.is_file:
            self._store.delete_dir(self._at(path))

    def prepare(self) -> None:
        """Create the bucket, when the URL asked for that (``allow_bucket_creation``)."""
        if self._makes_bucket:
            self._store.create_dir(self.root.partition("/")[0])

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root


class ObjectFiles(FileSystem):
    """An archive's folder in an object store as a read-only `FileSystem`.

    Files are fetched whole when they are opened, into temporary files without names, so that
    nothing is left on the disk however this process ends. The latest ones are kept up to a limit in
    bytes. Paths begin with the prefix; any other path does not exist here.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        cache_bytes: int = CACHE_BYTES,
        cache_dir: str | None = None,
    ) -> None:
        """Create the file system; it does not connect to the store yet.

        Args:
            objects: the objects of the folder.
            cache_bytes: the limit of kept files in bytes. Files in use count but are never dropped,
                so a single file may be larger.
            cache_dir: the folder for them, the system's temporary folder by default.
        """
        self._objects = objects
        self._cache_bytes = cache_bytes
        self._cache_dir = cache_dir or tempfile.gettempdir()
        self._kept: OrderedDict[str, _Fetched] = OrderedDict()
        self._lock = Lock()

    @property
    def cached_bytes(self) -> int:
        """The present size of the cache in bytes."""
        return sum(fetched.length for fetched in self._kept.values())

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        """Fetch a file and map it; the mapping stays valid when the cache drops the file.

        Raises:
            FileNotFoundError: the object does not exist.
            FileFormatError: the object is shorter than ``min_length``.
            StorageSpaceError: the local disk has no room for the object.
            OSError: the store does not answer or refuses access.
        """
        self._refuse_writing(writable)
        with self._lock:
            fd = os.dup(self._fetched(path).fd)
        try:
            return MappedFile.from_descriptor(fd, path, False, min_length)
        finally:
            os.close(fd)

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        """Fetch a file and open it for reading; the errors are those of ``open_mapped``."""
        self._refuse_writing(writable or create or exclusive)
        with self._lock:
            return DataFile.open(f"/proc/self/fd/{self._fetched(path).fd}")

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists at a path."""
        return self._found(path) is not None

    def is_dir(self, path: str) -> bool:
        """Whether a folder exists at a path."""
        found = self._found(path)
        return found is not None and not found.is_file

    def is_regular(self, path: str) -> bool:
        """Whether a file exists at a path."""
        found = self._found(path)
        return found is not None and bool(found.is_file)

    def is_link(self, path: str) -> bool:
        """No object is a link."""
        return False

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        return int(self._file(path).size)

    def list_dir(self, path: str) -> list[str]:
        """The names of a folder's files and folders, sorted."""
        return [name for name, _ in self.list_sizes(path)]

    def list_sizes(self, path: str) -> list[tuple[str, int]]:
        """The names and lengths of a folder's contents, sorted by name, in one request or a few."""
        found = self._objects.listed(self._inside(path), missing_ok=False)
        return [(info.base_name, int(info.size or 0)) for _, info in found]

    def is_unused(self, path: str) -> bool:
        """Always False: an object store does not tell whether a file is in use."""
        return False

    def shared_file(self, path: str) -> tuple[int, int] | None:
        """Always None: an object has only one name, and no other file shares its bytes."""
        return None

    def stamp(self, path: str) -> FileStamp:
        """The size and modification time of an object, which has no inode number."""
        info = self._file(path)
        return FileStamp(int(info.size), int(info.mtime_ns or 0), 0)

    def read_bytes(self, path: str) -> bytes:
        """The content of a small file."""
        return self._objects.read(self._inside(path))

    def usable_space(self, path: str) -> int:
        """Always 0: this file system writes nothing."""
        return 0

    def store_name(self, path: str) -> str:
        """The kind of store and the prefix, for messages."""
        return f"{self._objects.kind}:{self._objects.root}"

    def close(self) -> None:
        """Drop the cached files; mappings that were handed out stay valid."""
        with self._lock:
            self._kept.clear()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PermissionError(f"{self.store_name('')} is only read")

    create_mapped = remove = remove_tree = make_dirs = rename = link = _refuse
    sync_dir = write_bytes = try_lock = _refuse

    def _refuse_writing(self, writing: bool) -> None:
        if writing:
            self._refuse()

    def _inside(self, path: str) -> str:
        """A path relative to the prefix."""
        root, path = self._objects.root, path.rstrip("/")
        if path != root and not path.startswith(root + "/"):
            raise FileNotFoundError(f"{path} is not in {self.store_name('')}")
        return path[len(root) + 1 :]

    def _found(self, path: str) -> Any:
        try:
            return self._objects.info(self._inside(path))
        except FileNotFoundError:
            return None

    def _file(self, path: str) -> Any:
        info = self._objects.info(self._inside(path))
        if info is None or not info.is_file:
            raise FileNotFoundError(f"no such object: {path}")
        return info

    def _fetched(self, path: str) -> _Fetched:
        """Get a file from the cache or the store; the caller holds the lock."""
        inside = self._inside(path)
        kept = self._kept.pop(path, None)
        if kept is None:
            try:
                with self._objects.input(inside) as source:
                    self._make_room(source.size())
                    kept = _fetch(source, self._cache_dir)
            except (FileNotFoundError, StorageSpaceError):
                raise
            except OSError as error:
                raise PlaceUnreachableError(
                    errno.EIO, f"{self.store_name(path)} cannot be read: {error}"
                ) from error
        self._kept[path] = kept
        return kept

    def _make_room(self, length: int) -> None:
        while self._kept and self.cached_bytes + length > self._cache_bytes:
            self._kept.popitem(last=False)

    def __getstate__(self) -> NoReturn:
        raise TypeError("open the place again in the other process, it is not carried there")


class _Fetched:
    """A temporary file without a name, which is deleted with this object."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self.fd = file.fileno()
        self.length = length


def _fetch(source: Any, folder: str) -> _Fetched:
    """Copy an object to a temporary file, which is deleted when it is closed."""
    length = 0
    file = tempfile.TemporaryFile(prefix="aerolog-object-", dir=folder, buffering=0)  # noqa: SIM115
    try:
        for part in _parts(source):
            view = memoryview(part)
            length += len(view)
            while view:
                view = view[file.write(view) or 0 :]
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StorageSpaceError(
                f"no room in {folder} for a file of {source.size()} bytes from the object store"
            ) from error
        raise
    return _Fetched(file, length)


def _parts(source: Any) -> Iterator[Any]:
    while part := source.read_buffer(_CHUNK_BYTES):
        if not part.size:
            return
        yield part
