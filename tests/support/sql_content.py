"""What is in a SQL catalog, without the keys that one database happened to give its rows."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, select

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_HEADER_LENGTH, CATALOG_NAME, ENTRY_HEADER_LENGTH
from aerolog.catalog.index.models import Base

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog.index import RecordingCatalog

Content = dict[str, list[tuple[Any, ...]]]


def content(catalog: RecordingCatalog) -> Content:
    """All rows of all tables, sorted; keys are replaced by what they stand for."""
    with catalog.session() as session:
        tables = {
            table.name: [dict(row) for row in session.execute(select(table)).mappings()]
            for table in Base.metadata.sorted_tables
        }
    known: dict[str, dict[int, tuple[Any, ...]]] = {}
    found: Content = {}
    for table in Base.metadata.sorted_tables:
        named = {}
        for row in tables[table.name]:
            key = row.pop("id", None)
            for column in table.columns:
                for foreign in column.foreign_keys:
                    row[column.name] = known[foreign.column.table.name][row[column.name]]
            values = tuple(row[name] for name in sorted(row))
            named[key] = values
            found.setdefault(table.name, []).append(values)
        known[table.name] = named
        found.setdefault(table.name, []).sort(key=repr)
    return found


def column(catalog: RecordingCatalog, table: type[Base], *names: str) -> list[tuple[Any, ...]]:
    """Some columns of a table, in the order of its primary key."""
    key = inspect(table).primary_key
    with catalog.session() as session:
        columns = [getattr(table, name) for name in names]
        return [tuple(row) for row in session.execute(select(*columns).order_by(*key))]


def compact(folder: Path, recording_id: int) -> None:
    """Take a recording's entry out of an archive's catalog, as the tools do, and its files."""
    source = (folder / CATALOG_NAME).read_bytes()
    with CatalogReader.open(folder) as archive:
        entries = list(archive.entries())
    at = CATALOG_HEADER_LENGTH
    target = bytearray(source[:at])
    for entry, end in zip(entries, [one.offset for one in entries[1:]] + [None], strict=True):
        length = ENTRY_HEADER_LENGTH + entry.length if end is None else end - entry.offset
        if entry.descriptor.recording_id != recording_id:
            target += source[entry.offset : entry.offset + length]
    (folder / CATALOG_NAME).write_bytes(bytes(target).ljust(len(source), b"\0"))
    for path in folder.glob(f"{recording_id}-*.rec"):
        path.unlink()


def at_once(programs: list[list[str]], timeout_s: float = 300) -> list[str]:
    """Run programs, each with its arguments, in processes that are let go together.

    A program begins by reading its standard input to the end, which comes when all have started.

    Returns:
        What each printed; one that fails is an error of the test.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for program in programs
    ]
    try:
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        said = [process.communicate(timeout=timeout_s) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    for process, (_, errors) in zip(processes, said, strict=True):
        assert process.returncode == 0, errors
    return [output for output, _ in said]
