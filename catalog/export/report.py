"""Reports of an export: its progress, what it wrote, and what it could not write."""

from __future__ import annotations

from dataclasses import dataclass, field

from aerolog.transport.secrets import repr_without_secrets


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How far the export of one recording has come.

    Attributes:
        recording_id: the recording's id in its archive.
        position: up to which its rows are written.
        from_position: where the export began.
        until_position: where it will end.
        rows: number of rows that are written.
        payload_bytes: bytes of payload in those rows.
    """

    recording_id: int
    position: int
    from_position: int
    until_position: int
    rows: int
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class MissingRange:
    """A range of a recording that is not in the target."""

    from_position: int
    until_position: int


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What is there of one recording after an export, and what was not there before it.

    In the layout of a file for each recording, figures are those of the file. In a partitioned
    layout they are those of the files that this export added.

    Attributes:
        recording_id: the recording's id in its archive.
        path: of the file, or of the recording's folder.
        file_bytes: length of the file or files.
        until_position: up to which the recording is exported.
        rows: number of rows in the files.
        payload_bytes: bytes of payload in those rows.
        skipped_fragments: of messages whose beginning or end the recording does not have.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        seconds: how long it took.
        from_position: where they begin.
        files: how many there are, without those of rejects.
        rejected: messages that could not be decoded; they are in the table of rejects.
        damage: why the target lacks some of the recording, and what to do; None when it does not.
        purged: ranges that were purged before they were exported.
        gaps: ranges that were skipped as damaged; each is in the table of rejects.
    """

    recording_id: int
    path: str
    file_bytes: int
    until_position: int
    rows: int
    payload_bytes: int
    skipped_fragments: int
    checksum_mismatches: int
    seconds: float
    from_position: int = 0
    files: int = 0
    rejected: int = 0
    damage: str | None = None
    purged: tuple[MissingRange, ...] = ()
    gaps: tuple[MissingRange, ...] = ()


@repr_without_secrets
@dataclass(slots=True)
class ExportReport:
    """The result of an export.

    Attributes:
        target: folder or URL, without secrets.
        results: of each recording, in the order in which they were asked for.
        abandoned: temporary files of an export that was killed; they were removed.
        uploads: what an export to an object store was writing when it was killed: the store may
            keep parts of it, which nobody sees and somebody pays.
        unnoted: archives' folders whose catalog was not told of the export, because the folder, its
            catalog or its journal is read-only.
        seconds: how long it took.
    """

    target: str
    results: list[ExportResult] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    unnoted: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """Rows of all results."""
        return sum(result.rows for result in self.results)

    @property
    def file_bytes(self) -> int:
        """Bytes of all results' files."""
        return sum(result.file_bytes for result in self.results)

    @property
    def rejected(self) -> int:
        """Messages that could not be decoded."""
        return sum(result.rejected for result in self.results)

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for is there; what is skipped was not asked for."""
        return not any(result.damage or result.purged for result in self.results)
