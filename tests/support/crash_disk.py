"""A disk that shows, at each operation, what a crash at that moment would leave of it.

Nothing has to be stopped for that: what a killed process leaves is what its files hold then, and
what a loss of power leaves is made of that and of what was synced before, page by page. So one run
of a scenario gives the states of all its operations (``CrashDisk.points``), and ``CrashDisk.of``
makes a disk of one of them.
"""

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.testing.filesystem import PAGE, FakeFile, FakeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from random import Random

_STORES: Final = frozenset({"store"})
_FLIP: Final = 0.5


@dataclass(frozen=True, slots=True)
class FileImage:
    """What a file holds: its size, and its pages that are no holes, by number."""

    size: int
    pages: Mapping[int, bytes]

    @classmethod
    def of(cls, fd: int) -> FileImage:
        """Of an open file that can tell its holes."""
        size = os.fstat(fd).st_size
        pages: dict[int, bytes] = {}
        at = 0
        while at < size:
            try:
                begin = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            at = min(size, os.lseek(fd, begin, os.SEEK_HOLE))
            data = os.pread(fd, at - begin, begin)
            for start in range(0, len(data), PAGE):
                pages[(begin + start) // PAGE] = data[start : start + PAGE]
        return cls(size, pages)

    def write_to(self, fd: int) -> None:
        """Give an empty file this content, with its holes."""
        os.ftruncate(fd, self.size)
        for number, page in self.pages.items():
            os.pwrite(fd, page[: self.size - number * PAGE], number * PAGE)

    def content(self) -> bytes:
        """All bytes."""
        data = bytearray(self.size)
        for number, page in self.pages.items():
            data[number * PAGE : number * PAGE + len(page)] = page
        return bytes(data)

    def with_bytes(self, offset: int, data: bytes) -> FileImage:
        """A copy in which some bytes are written."""
        pages = dict(self.pages)
        at = 0
        while at < len(data):
            number, inside = divmod(offset + at, PAGE)
            part = data[at : at + PAGE - inside]
            old = pages.get(number, b"").ljust(PAGE, b"\0")
            pages[number] = old[:inside] + part + old[inside + len(part) :]
            at += len(part)
        return FileImage(max(self.size, offset + len(data)), pages)


EMPTY: Final = FileImage(0, {})
#: What is on a disk, by path; names of one file have the same object.
State = dict[str, FileImage]


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """An operation of a scenario, and what is on the disk just before it.

    Attributes:
        number: of the operation, from 0.
        operation: what it is, for people.
        now: the files as every process sees them.
        torn: with a part of the operation, or of the store before it, done; at most a few.
        durable: the files as far as they were synced.
        names: operations on names since the folder was synced, oldest first: each a path and what
            it names afterwards (a key of ``durable`` and ``inodes``), None when nothing.
        inodes: files by number as every process sees them, also those without a name by now.
        progress: what the scenario said of itself.
    """

    number: int
    operation: str
    now: State
    torn: list[State]
    durable: dict[int, FileImage]
    durable_names: dict[str, int]
    names: list[tuple[str, int | None]]
    inodes: dict[int, FileImage]
    progress: Any

    def after_kill(self) -> State:
        """What a process leaves that is killed before the operation."""
        return self.now

    def after_power_loss(self, random: Random) -> State:
        """What a loss of power may leave: each page that was not synced is there or is not.

        Operations on names are journalled: the first ones of those not synced are there.
        """
        names = dict(self.durable_names)
        for path, number in self.names[: random.randint(0, len(self.names))]:
            if number is None:
                names.pop(path, None)
            else:
                names[path] = number
        images = {}
        for number in sorted(set(names.values())):
            durable = self.durable.get(number, EMPTY)
            images[number] = _mixed(durable, self.inodes.get(number, durable), random)
        return {path: images[number] for path, number in names.items()}


def _mixed(durable: FileImage, now: FileImage, random: Random) -> FileImage:
    size = durable.size if random.random() < _FLIP else now.size
    pages = {}
    for number in sorted({*durable.pages, *now.pages}):
        old, new = durable.pages.get(number), now.pages.get(number)
        page = old if old == new or random.random() < _FLIP else new
        if page is not None and number * PAGE < size:
            pages[number] = page
    return FileImage(size, pages)


@dataclass(slots=True)
class _Before:
    """The last store through a view: it is not known yet what was stored."""

    path: str
    image: FileImage = field(default=EMPTY)


class CrashDisk(FakeFileSystem):
    """A disk in memory that notes the state before each operation while it is watched.

    Attributes:
        points: the operations so far, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.points: list[FaultPoint] = []
        self._progress: Callable[[], Any] | None = None
        self._numbers: dict[FakeFile, int] = {}
        self._images: dict[int, FileImage] = {}
        self._durable: dict[int, FileImage] = {}
        self._durable_names: dict[str, int] = {}
        self._names: list[tuple[str, int | None]] = []
        self._known_names: dict[str, int] = {}
        self._view: _Before | None = None

    @classmethod
    def of(cls, state: State) -> CrashDisk:
        """A disk that holds these files."""
        disk = cls()
        first_names: dict[int, str] = {}
        for path, image in state.items():
            disk.make_dirs(posixpath.dirname(path))
            first = first_names.setdefault(id(image), path)
            if first == path:
                image.write_to(disk.create_file(path).fd)
            else:
                disk.link(first, path)
        disk._take_stock()
        disk._durable = dict(disk._images)
        disk._durable_names = dict(disk._known_names)
        disk._names.clear()
        return disk

    def watch(self, progress: Callable[[], Any]) -> None:
        """Note every operation from now on, with what ``progress`` says at that moment."""
        self._progress = progress

    def stop_watching(self) -> None:
        """Note nothing more."""
        self._progress = None

    def state(self) -> State:
        """The files as they are now."""
        self._take_stock()
        return {path: self._images[number] for path, number in self._known_names.items()}

    def before(
        self, kind: str, path: str, offset: int = 0, data: bytes = b"", *, length: int = 0
    ) -> None:
        if self._progress is None:
            return
        now = self.state()
        torn = _torn_view(self._view, now)
        self._view = None
        if kind == "write":
            torn += _torn_write(path, now, offset, data)
        elif kind in _STORES:
            self._view = _Before(path, now[path])
        name = posixpath.basename(path)
        self.points.append(
            FaultPoint(
                number=len(self.points),
                operation=f"{kind} {name} at {offset}, {len(data) or length} bytes",
                now=now,
                torn=torn,
                durable=dict(self._durable),
                durable_names=dict(self._durable_names),
                names=list(self._names),
                inodes=dict(self._images),
                progress=self._progress(),
            )
        )
        if kind == "sync_dir":
            self._durable_names = dict(self._known_names)
            self._names.clear()

    def after_sync(self, file: FakeFile) -> None:
        if self._progress is not None:
            self._take_stock()
            number = self._numbers[file]
            self._durable[number] = self._images[number]

    def _take_stock(self) -> None:
        """Look at all files, and at which names have come and gone."""
        names = {}
        for path, file in self._files.items():
            number = self._numbers.setdefault(file, len(self._numbers))
            image = FileImage.of(file.fd)
            if self._images.get(number) != image:
                self._images[number] = image
            names[path] = number
        self._names += [(path, None) for path in self._known_names if path not in names]
        for path, number in names.items():
            if self._known_names.get(path) != number:
                self._names.append((path, number))
        self._known_names = names


def _torn_view(before: _Before | None, now: State) -> list[State]:
    """States in which the last store through a view was done in part."""
    if before is None or before.path not in now:
        return []
    old, new = before.image.content(), now[before.path].content()
    if old == new or len(old) != len(new):
        return []
    changed = [at for at in range(0, len(new), 8) if old[at : at + 8] != new[at : at + 8]]
    cuts = {changed[len(changed) // 2], changed[-1]} - {changed[0]}
    begin = changed[0]
    return [
        {**now, before.path: before.image.with_bytes(begin, new[begin:cut])} for cut in sorted(cuts)
    ]


def _torn_write(path: str, now: State, offset: int, data: bytes) -> list[State]:
    """States in which a write was done in part: the system stops between two pages."""
    first = PAGE - offset % PAGE
    if len(data) <= first:
        return []
    boundaries = range(first, len(data), PAGE)
    cuts = {boundaries[0], boundaries[len(boundaries) // 2], boundaries[-1]}
    return [{**now, path: now[path].with_bytes(offset, data[:cut])} for cut in sorted(cuts)]


def write_state(state: State, folder: Path) -> None:
    """Write files of a state's folders to a real folder, flat, with their holes."""
    folder.mkdir(parents=True, exist_ok=True)
    first_names: dict[int, Path] = {}
    for path, image in state.items():
        first = first_names.setdefault(id(image), folder / posixpath.basename(path))
        if first.exists():
            (folder / posixpath.basename(path)).hardlink_to(first)
            continue
        fd = os.open(folder / posixpath.basename(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            image.write_to(fd)
        finally:
            os.close(fd)
