"""Copies the holds of an archive's folder to the SQL catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from aerolog.archive.retention.errors import RetentionError
from aerolog.archive.retention.holds import Holds
from aerolog.catalog.index.models import Hold, Recording
from aerolog.catalog.index.row_changes import stored_text

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from aerolog.catalog.index.folder_scan import FolderScan


def mirror_holds(session: Session, archive_fk: int, scan: FolderScan) -> int:
    """Make an archive's rows of holds equal to its folder's holds; return how many differed.

    Holds that cannot be read are reported and their rows stay, so that no hold is lost.
    """
    try:
        holds = list(Holds.open(scan.path, scan.files))
    except (RetentionError, OSError) as error:
        scan.problems.setdefault(f"holds of {scan.path}: {error}")
        return 0
    stored = session.execute(
        select(Hold.recording_fk, Hold.reason, Hold.until_ms, Hold.since_ms)
        .join(Recording, Recording.id == Hold.recording_fk)
        .where(Recording.archive_fk == archive_fk)
    )
    before = {(key, reason): (until, since) for key, reason, until, since in stored}
    if not before and not holds:
        return 0
    ids = [hold.recording_id for hold in holds]
    rows = session.execute(
        select(Recording.recording_id, Recording.id).where(
            Recording.archive_fk == archive_fk, Recording.recording_id.in_(ids)
        )
    )
    keys: dict[int, int] = {recording_id: key for recording_id, key in rows}  # noqa: C416 - typed
    now: dict[tuple[int, str], tuple[int | None, int]] = {}
    for hold in holds:
        if hold.recording_id in keys:
            reason = stored_text(hold.reason)
            now[keys[hold.recording_id], reason] = (hold.until_ms, hold.since_ms)
    gone = [key for key, values in before.items() if now.get(key) != values]
    for recording_fk, reason in gone:
        session.execute(
            delete(Hold).where(Hold.recording_fk == recording_fk, Hold.reason == reason)
        )
    new: list[dict[str, Any]] = [
        {"recording_fk": key, "reason": reason, "until_ms": until_ms, "since_ms": since_ms}
        for (key, reason), (until_ms, since_ms) in now.items()
        if before.get((key, reason)) != (until_ms, since_ms)
    ]
    if new:
        session.execute(insert(Hold), new)
    return len({*gone, *((one["recording_fk"], one["reason"]) for one in new)})
