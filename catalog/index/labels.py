"""Tags and names, which people give to recordings.

A tag is a key with a value; a recording has one value of a key at most. A name belongs to one
recording of an archive at a time. Both are written to the tables and to the folder's journal at
once, so that a rebuilt catalog has them, see `aerolog.catalog.index.journal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from aerolog.catalog.index.errors import LabelError, SearchError
from aerolog.catalog.index.journal import Fact, place_of, record_all
from aerolog.catalog.index.models import Archive, Name, Recording
from aerolog.catalog.index.search_checks import check_text
from aerolog.catalog.index.search_query import is_archive
from aerolog.transport.config.values import whole_number
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.recording_catalog import RecordingCatalog

KEY_MAX: Final = 128
VALUE_MAX: Final = 4096
NAME_MAX: Final = 256


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class LabelledRecording:
    """A recording, identified by its archive's place and its id there."""

    place: str
    recording_id: int


def label(
    catalog: RecordingCatalog,
    place: str | Path,
    recording_ids: Sequence[int],
    *,
    tags: Mapping[str, str] | None = None,
    untag: Collection[str] = (),
    name: str | None = None,
    unname: Collection[str] = (),
    move: bool = False,
) -> None:
    """Add tags and a name to recordings of an archive, or remove them, in one transaction.

    Labels that are set or removed already are left as they are.

    Args:
        catalog: the catalog whose tables get the labels at once.
        place: the archive's folder, on this machine.
        recording_ids: the recordings; only one when a name is given.
        tags: key -> value, which replaces the key's present value.
        untag: the keys of tags to remove.
        name: the name to give to the recording.
        unname: the names to remove from the recordings.
        move: whether to take the name from the recording that has it now.

    Raises:
        LabelError: a label cannot be given, or a recording does not exist.
        JournalError: the folder's journal cannot be written.
    """
    tags = {} if tags is None else tags
    _check(recording_ids, tags, untag, name, unname)
    place = place_of(place)
    with catalog.session() as session:
        _require(session, place, recording_ids)
        if name is not None and not move:
            _require_free(session, place, name, recording_ids[0])
    facts = [
        Fact(place, kind, {"recording_id": one, **values})
        for one in recording_ids
        for kind, values in _facts(tags, untag, name, unname)
    ]
    record_all(catalog, facts)


def resolve(
    catalog: RecordingCatalog, wanted: str | int, archive: str | int | None = None
) -> LabelledRecording:
    """Find the recording with an id or a name.

    Args:
        catalog: the catalog to search.
        wanted: the id or the name.
        archive: the archive's place, or the id of its mark file; needed only when recordings of
            several archives match.

    Raises:
        LabelError: no recording matches, or several do.
    """
    found = select(Archive.place, Recording.recording_id).join(
        Recording, Recording.archive_fk == Archive.id
    )
    text = str(wanted)
    if text.isdecimal() and text.isascii():
        recording_id = whole_number(text)
        if recording_id is None:
            raise LabelError(f"{text[:80]} is no recording id: it is larger than any")
        what, found = f"recording {text}", found.where(Recording.recording_id == recording_id)
    else:
        _checked_text("the name", text, NAME_MAX)
        what = f"recording named {text!r}"
        found = found.join(Name, Name.recording_fk == Recording.id).where(Name.name == text)
    where = "the catalog"
    if archive is not None:
        found, where = found.where(is_archive(archive)), f"the catalog's archive {archive}"
    with catalog.session() as session:
        rows = session.execute(found.order_by(Archive.place).limit(3)).all()
    if not rows:
        raise LabelError(f"there is no {what} in {where}; if it is new, run: aerolog catalog sync")
    if len(rows) > 1:
        places = ", ".join(row[0] for row in rows[:2])
        raise LabelError(f"more than one archive has a {what} ({places}, ...): say which archive")
    return LabelledRecording(rows[0][0], rows[0][1])


def _facts(
    tags: Mapping[str, str], untag: Collection[str], name: str | None, unname: Collection[str]
) -> Iterator[tuple[str, dict[str, str | bool | None]]]:
    for key in untag:
        yield "tag", {"key": key, "value": None}
    for key, value in tags.items():
        yield "tag", {"key": key, "value": value}
    for old in unname:
        yield "name", {"name": old, "given": False}
    if name is not None:
        yield "name", {"name": name, "given": True}


def _check(
    recording_ids: Sequence[int],
    tags: Mapping[str, str],
    untag: Collection[str],
    name: str | None,
    unname: Collection[str],
) -> None:
    for key in (*tags, *untag):
        _checked_text("the key of a tag", key, KEY_MAX)
        if "=" in key:
            raise LabelError(f"the key of a tag is {key!r}: it may have no =")
    for key, value in tags.items():
        _checked_text(f"the value of tag {key!r}", value, VALUE_MAX, may_be_empty=True)
    for one in (*unname, *([] if name is None else [name])):
        _checked_text("the name", one, NAME_MAX)
    if name is None:
        return
    if name.isdecimal():
        raise LabelError(f"the name is {name!r}: it would be taken for a recording id")
    if len(recording_ids) != 1:
        raise LabelError(
            f"the name {name!r} can be that of one recording, not of {len(recording_ids)}"
        )


def _checked_text(what: str, text: str, most: int, *, may_be_empty: bool = False) -> None:
    try:
        check_text(what, text, most=most)
    except SearchError as error:
        raise LabelError(str(error)) from error
    if not may_be_empty and (not text or text != text.strip()):
        raise LabelError(f"{what} is {text!r}: it may be neither empty nor begin or end in a blank")
    if not text.isprintable():
        raise LabelError(f"{what} is {text!r}: it may have no control characters")


def _require(session: Session, place: str, recording_ids: Sequence[int]) -> None:
    archive = session.scalar(select(Archive.id).where(Archive.place == place))
    if archive is None:
        raise LabelError(
            f"the catalog does not have the archive {place}; "
            f"run: aerolog catalog sync --archive-dir {place}"
        )
    for recording_id in recording_ids:
        is_id = 0 <= recording_id < 1 << 63
        known = select(Recording.id).where(
            Recording.archive_fk == archive, Recording.recording_id == recording_id
        )
        if not is_id or session.scalar(known) is None:
            raise LabelError(
                f"the catalog has no recording {recording_id} of archive {place}; "
                "if it is new, run: aerolog catalog sync"
            )


def _require_free(session: Session, place: str, name: str, recording_id: int) -> None:
    owner = session.scalar(
        select(Recording.recording_id)
        .join(Name, Name.recording_fk == Recording.id)
        .join(Archive, Archive.id == Name.archive_fk)
        .where(Archive.place == place, Name.name == name)
    )
    if owner not in {None, recording_id}:
        raise LabelError(f"recording {owner} of {place} has the name {name!r}; take it away first")
