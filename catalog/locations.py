"""Finds recordings in archive folders given by path or URL, or through a SQL catalog.

A *place* is one archive's folder: a path, ``file:///…``, or an object store's URL as
``pyarrow.fs`` understands it, such as
``s3://bucket/folder?endpoint_override=127.0.0.1:9000&scheme=http``. A *catalog URL* names a
database, ``sqlite:///…`` or ``postgresql+psycopg://…``, that knows recordings of many places.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.catalog.object_store import (
    CACHE_BYTES,
    ObjectFiles,
    Objects,
    PlaceUnreachableError,
    url_parts,
)
from aerolog.catalog.times import is_within
from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    ArchiveErrorCode,
    ConfigurationError,
)
from aerolog.transport.resource import Resource
from aerolog.transport.secrets import repr_without_secrets, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from aerolog.archive.format.descriptor import RecordingDescriptor

__all__ = [
    "Choice",
    "OpenPlaces",
    "PlaceUnreachableError",
    "PlacedRecording",
    "check_known",
    "is_catalog_url",
    "local_folder",
    "open_place",
    "recordings_of",
    "refuse_unknown",
]

CATALOG_SCHEMES = ("sqlite", "postgresql", "postgres")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class PlacedRecording:
    """A recording and the place of its archive.

    Attributes:
        place: the archive's place, as ``open_place`` takes it.
        recording_id: the recording's id in that archive.
    """

    place: str
    recording_id: int


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A selection of recordings: those that meet all conditions that are given.

    Attributes:
        recording_ids: the recording's id is one of these, all of which must be there.
        session_ids: the recording's latest session id is one of these.
        stream_id: the recording's stream id.
        channel: a part of the stripped channel.
        tags: tags that the recording has. Only a SQL catalog knows tags, names and states.
        name: a name that the recording has.
        state: the state in the SQL catalog; by default ``active`` and ``stopped`` recordings are
            selected.
        archive: the archive's place in the SQL catalog, or the id of its mark file.
        since_ms: the recording was active at or after this time, epoch milliseconds.
        until_ms: the recording was active before this time, epoch milliseconds.
        allow_unknown: False makes an id that no archive has an error, True leaves it out.
    """

    recording_ids: tuple[int, ...] | None = None
    session_ids: tuple[int, ...] | None = None
    stream_id: int | None = None
    channel: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    state: str | None = None
    archive: str | int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    allow_unknown: bool = False

    def includes(self, descriptor: RecordingDescriptor) -> bool:
        """Whether a descriptor meets the conditions that it can tell; times are start and stop."""
        if self.recording_ids is not None and descriptor.recording_id not in self.recording_ids:
            return False
        if self.stream_id is not None and descriptor.stream_id != self.stream_id:
            return False
        if self.channel is not None and self.channel not in descriptor.stripped_channel:
            return False
        if self.session_ids is not None and descriptor.session_id not in self.session_ids:
            return False
        return is_within(descriptor, self.since_ms, self.until_ms)


def is_catalog_url(archive: str) -> bool:
    """Whether a text is the URL of a SQL catalog rather than a place."""
    match = _SCHEME.match(archive)
    return match is not None and match[1].lower().partition("+")[0] in CATALOG_SCHEMES


def open_place(
    place: str, *, cache_bytes: int = CACHE_BYTES, cache_dir: str | None = None
) -> ArchiveFolder:
    """Open an archive's folder for reading, in a file system or an object store.

    In an object store the catalog is fetched at once, and segments when they are read, into a
    temporary cache; see ``ObjectFiles``.

    Args:
        place: a path, a ``file://`` URL or the URL of an object store.
        cache_bytes: the size limit of the cache.
        cache_dir: the folder of the cache, the system's temporary folder by default.

    Raises:
        ConfigurationError: the place has no known form.
        FileNotFoundError: the place has no catalog.
        PlaceUnreachableError: the store does not answer, or credentials are missing or wrong.
        FileFormatError: the catalog is damaged.
        MissingExtraError: the place is in an object store and Arrow is not installed.
    """
    if is_catalog_url(place):
        raise ConfigurationError(
            f"{without_secrets(place)} is a database of recordings and not an archive's folder"
        )
    folder = local_folder(place)
    if folder is not None:
        return ArchiveFolder(folder)
    objects = Objects.at(
        place,
        "reading archives in an object store",
        f"{without_secrets(place)} is no place of an archive: a path",
    )
    files = ObjectFiles(objects, cache_bytes=cache_bytes, cache_dir=cache_dir)
    try:
        return ArchiveFolder(objects.root, files)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"no archive's catalog at {without_secrets(place)}") from error
    except OSError as error:
        if isinstance(error, AerologError) and not isinstance(error, PlaceUnreachableError):
            raise
        raise PlaceUnreachableError(
            f"{without_secrets(place)} cannot be read, check its address and credentials: {error}"
        ) from error


class OpenPlaces(Resource):
    """Archives' folders, each opened when it is first asked for. A context manager."""

    def __init__(self, opened: Callable[[str], ArchiveFolder] = open_place) -> None:
        """Open nothing yet.

        Args:
            opened: opens the folder of a place.
        """
        self._opened = opened
        self._stack = ExitStack()
        self._folders: dict[str, ArchiveFolder] = {}

    def folder(self, place: str) -> ArchiveFolder:
        """The folder of a place, which stays open until ``close``."""
        if place not in self._folders:
            self._folders[place] = self._stack.enter_context(self._opened(place))
        return self._folders[place]

    def close(self) -> None:
        """Close all folders."""
        self._stack.close()


def local_folder(place: str) -> str | None:
    """The path of a place on this machine; None when the place is in an object store.

    Raises:
        ConfigurationError: the place is no URL, or its path has a zero byte.
    """
    match = _SCHEME.match(place)
    if match is None or "://" not in place:
        path = place
    elif match[1].lower() != "file":
        return None
    else:
        path = unquote(url_parts(place).path)
    if "\0" in path:
        raise ConfigurationError(f"{path!r} is no path: no name of a file has a zero byte")
    return path


def recordings_of(archive: str, choice: Choice | None = None) -> list[PlacedRecording]:
    """Find the selected recordings of a place, or of all places that a SQL catalog knows.

    Args:
        archive: a place or a catalog URL.
        choice: which recordings are wanted, by default all of them.

    Raises:
        ConfigurationError: a condition for a place needs a SQL catalog.
        ArchiveError: UNKNOWN_RECORDING, an id is not there and that is not allowed.
        CatalogError: the SQL catalog fails; see ``aerolog.catalog.index.errors``.
        Exception: whatever ``open_place`` raises.
    """
    choice = choice or Choice()
    check_known([archive], choice)
    if is_catalog_url(archive):
        return list(_found(archive, choice))
    if choice.tags or (choice.name, choice.state, choice.archive) != (None, None, None):
        raise ConfigurationError(
            "tags, names, states and archives are in the SQL catalog: give its URL in place of"
            f" {without_secrets(archive)}, for the one beside an archive"
            " sqlite:///FOLDER/aerolog-catalog.db"
        )
    with open_place(archive) as folder:
        return [
            PlacedRecording(archive, descriptor.recording_id)
            for descriptor in folder.catalog.descriptors()
            if choice.includes(descriptor)
        ]


def check_known(archives: Iterable[str], choice: Choice) -> None:
    """Check that each id of a choice is that of a recording, whatever its other conditions are.

    Args:
        archives: places or catalog URLs; it is enough when one of them has the recording.
        choice: of recordings.

    Raises:
        ArchiveError: UNKNOWN_RECORDING, an id is not there and that is not allowed.
        Exception: whatever ``recordings_of`` raises.
    """
    if choice.recording_ids is None or choice.allow_unknown:
        return
    only_ids = Choice(
        recording_ids=choice.recording_ids,
        state=choice.state,
        archive=choice.archive,
        allow_unknown=True,
    )
    places = list(archives)
    known = {found.recording_id for place in places for found in recordings_of(place, only_ids)}
    refuse_unknown(choice.recording_ids, known, ", ".join(map(without_secrets, places)))


def refuse_unknown(recording_ids: Iterable[int], known: set[int], where: str) -> None:
    """Raise an error that names the ids that are not known.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
    """
    unknown = [each for each in dict.fromkeys(recording_ids) if each not in known]
    if unknown:
        raise ArchiveError(
            ArchiveErrorCode.UNKNOWN_RECORDING,
            f"unknown recording id{'s' * (len(unknown) > 1)}: {', '.join(map(str, unknown[:10]))}"
            f"{', ...' if len(unknown) > 10 else ''} in {where}",
        )


def _found(url: str, choice: Choice) -> Iterator[PlacedRecording]:
    from aerolog.catalog.index.models import READABLE
    from aerolog.catalog.index.recording_catalog import RecordingCatalog
    from aerolog.catalog.index.search import Search, search

    wanted = Search(
        stream_id=choice.stream_id,
        channel=choice.channel,
        tags=dict(choice.tags),
        name=choice.name,
        state=choice.state,
        since_ms=choice.since_ms,
        until_ms=choice.until_ms,
        recording_ids=choice.recording_ids,
        archive=choice.archive,
        order="id",
    )
    with RecordingCatalog.open(url) as catalog:
        for found in search(catalog, wanted):
            if choice.state is None and found.state not in READABLE:
                continue
            if choice.session_ids is None or found.session_id in choice.session_ids:
                yield PlacedRecording(found.place, found.recording_id)
