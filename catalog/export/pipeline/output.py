"""The layout of an output, and the job that it belongs to.

::

    rows/date=2026-11-21/stream_id=1001/00000001-00000.parquet    what was loaded
    rejects/date=2026-11-21/stream_id=1001/00000001-00000.parquet what was not, and why
    _aerolog/target.json                                          whose folder it is
    _aerolog/commits/00000001.json                                what the first run loaded
    _aerolog/staging/<run>/                                       of a run that is not finished

A folder belongs to one job.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from aerolog.catalog.export.errors import ManifestError, TargetUnreachableError
from aerolog.catalog.export.pipeline.errors import TargetError
from aerolog.catalog.export.store import open_store
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.catalog.export.store import Store

OURS: Final = "_aerolog"
IDENTITY: Final = f"{OURS}/target.json"
COMMITS: Final = f"{OURS}/commits"
STAGING: Final = f"{OURS}/staging"
VERSION: Final = 1


def open_output(to: str) -> Store:
    """The store of an output.

    Raises:
        TargetError: its URL is of no use.
        MissingExtraError: Arrow is not installed, which writes to object stores.
    """
    try:
        return open_store(to, OURS, f"{without_secrets(to)} is no place to write to: a path")
    except ConfigurationError as error:
        raise TargetError(str(error)) from error


@contextmanager
def explained(to: str) -> Iterator[None]:
    """Turns what the system, an object store or a manifest says of an output into our error."""
    try:
        yield
    except ManifestError as error:
        raise TargetError(str(error)) from error
    except OSError as error:
        if isinstance(error, TargetError):
            raise
        told = error.__cause__ if isinstance(error, TargetUnreachableError) else error
        assert isinstance(told, OSError)
        reason = told.strerror or " ".join(str(told).split())
        raise TargetError(
            f"{without_secrets(to)} cannot be used, check its address and credentials: {reason}"
        ) from error


def claim(store: Store, to: str, job: str) -> str:
    """Make sure that a folder is this job's, or make it so when it is empty or missing.

    Args:
        store: of the output.
        to: folder or URL of the output, for messages.
        job: name of the job.

    Returns:
        The id of the folder.

    Raises:
        TargetError: the folder has something else in it, or belongs to another job.
    """
    found = identity(store, to)
    if found is None:
        refuse_foreign(store, to)
        store.prepare()
        found = {"version": VERSION, "job": job, "id": uuid.uuid4().hex}
        try:
            store.write(IDENTITY, json.dumps(found).encode(), fresh=True)
        except FileExistsError:
            found = cast("dict[str, Any]", identity(store, to))
    if found["job"] != job:
        raise TargetError(
            f"{without_secrets(to)} is the output of the job {found['job']!r} and not of {job!r};"
            " name another place"
        )
    return str(found["id"])


def refuse_foreign(store: Store, to: str) -> None:
    """Make sure that a folder without a ``target.json`` is empty.

    Raises:
        TargetError: there is something in it.
    """
    # A run that was killed before it claimed the folder left nothing but this folder.
    others = [name for name in store.names("") if name != OURS]
    if others:
        raise TargetError(
            f"{without_secrets(to)} is not empty and no job's output (there is {others[0]!r});"
            " name another place, or empty this one"
        )


def identity(store: Store, to: str) -> dict[str, Any] | None:
    """Read ``target.json``, which names the job that a folder belongs to; None without one.

    Raises:
        TargetError: the file is damaged or of another version.
    """
    content = store.read(IDENTITY)
    if content is None:
        return None
    try:
        found = json.loads(content)
        version, _, _ = found["version"], found["job"], found["id"]
    except (ValueError, KeyError, TypeError) as error:
        raise TargetError(f"{without_secrets(to)}/{IDENTITY} is damaged: {error}") from error
    if version != VERSION:
        raise TargetError(
            f"{without_secrets(to)} has layout {version}, this package knows {VERSION}; use the"
            " version that made it"
        )
    return cast("dict[str, Any]", found)
