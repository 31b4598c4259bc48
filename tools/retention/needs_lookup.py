"""Who needs an archive's data, as the SQL catalog and the manifests of exports say now."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.retention.needs import Known
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from aerolog.archive.retention.needs import Lookup
    from aerolog.tools.retention.options import NeedOptions

#: The files of a SQL catalog in the folder, which is read only where there is one.
_DATABASE_NAME: Final = "aerolog-catalog.db"
_JOURNAL_NAME: Final = "aerolog-catalog.journal"


def lookup_of(archive_dir: str, options: NeedOptions, *, by_label: bool = False) -> Lookup:
    """What is known of a folder's recordings, read at each call.

    Args:
        archive_dir: the archive's folder.
        options: further sources of needs.
        by_label: whether labels are asked for, which a SQL catalog has to tell.
    """
    catalog, exports = options.catalog, tuple(options.export or ())

    def has(name: str) -> bool:
        return os.path.lexists(Path(archive_dir) / name)

    def known(recording_id: int | None) -> Known:
        total = shutil.disk_usage(archive_dir).total
        if by_label and catalog is None and not has(_DATABASE_NAME):
            raise ConfigurationError(
                "a policy chooses by label, and there is no SQL catalog: pass --catalog URL, or"
                f" make one: aerolog catalog sync --archive-dir {archive_dir}"
            )
        if not (catalog or exports or has(_DATABASE_NAME) or has(_JOURNAL_NAME)):
            return Known(total_bytes=total)
        from aerolog.catalog.index.retention_facts import retention_facts

        facts = retention_facts(archive_dir, catalog, exports=exports, recording_id=recording_id)
        return Known(labels=facts.labels, needs=facts.needs, total_bytes=total)

    return known
