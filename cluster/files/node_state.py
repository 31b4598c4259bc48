"""``node-state.dat``: the highest term in which a member stood or voted (spec cluster 5).

One thread, that of the consensus module, writes the file; others may read it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from aerolog.cluster.files.layout import (
    FIRST_FRAME_OFFSET,
    FRAME_ALIGNMENT,
    NODE_STATE_LENGTH,
    NODE_STATE_NAME,
    NODE_STATE_VERSION,
)
from aerolog.cluster.protocol import node_state_messages as stored
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.sbe import (
    FRAMED_HEADER,
    FRAMED_HEADER_LENGTH,
    semantic_version_major,
)

_TERM = stored.CandidateTerm.LAYOUT
_AT = {field.name: field.offset for field in _TERM.fixed}


class CandidateTerm(NamedTuple):
    """What a member last stood for or voted in; each value is -1 where there was nothing yet.

    Attributes:
        candidate_term_id: the highest leadership term.
        timestamp: when it was stored, epoch milliseconds.
        log_position: the member's position in the log then, bytes.
    """

    candidate_term_id: int
    timestamp: int
    log_position: int


class NodeStateFile:
    """A mapped ``node-state.dat``.

    Args:
        cluster_dir: the cluster's folder, which exists.
        create: create the file where it is missing, and complete one whose creation was cut off.
        sync_level: how much a change is forced to the disk; 0 leaves that to the system.
        files: the file system to use.

    Raises:
        FileNotFoundError: the file is missing and ``create`` is not set.
        FileFormatError: the file is damaged, or of another major version.
        StorageSpaceError: there is no room for the file.
    """

    def __init__(
        self,
        cluster_dir: str | Path,
        *,
        create: bool = False,
        sync_level: int = 1,
        files: FileSystem | None = None,
    ) -> None:
        files = files or RealFileSystem()
        self.path = str(Path(cluster_dir) / NODE_STATE_NAME)
        self._sync_level = sync_level
        if create and files.exists(self.path) and files.size(self.path) == 0:
            # Its creation was cut off before it got its length, so it never held a vote.
            files.remove(self.path)
        if create and not files.exists(self.path):
            self._mapped = files.create_mapped(self.path, NODE_STATE_LENGTH)
            files.sync_dir(str(cluster_dir))
        else:
            self._mapped = files.open_mapped(
                self.path,
                writable=create,
                min_length=FIRST_FRAME_OFFSET + FRAMED_HEADER_LENGTH,
            )
        version = self._mapped.load_i32(0)
        if version == 0 and create and self._mapped.length >= NODE_STATE_LENGTH:
            self._initialise()
        elif version == 0 or semantic_version_major(version) != 0:
            raise FileFormatError(
                f"node state file of unknown version: {self.path} at offset 0: {version}; it is"
                " not initialised, or of other software"
            )
        self._base = self._find_candidate_term()

    def _initialise(self) -> None:
        """Write the empty frames, and the version last, so that a cut leaves the file blank."""
        frames = stored.CandidateTerm().encode() + stored.NodeStateFooter().encode()
        self._mapped.view(FIRST_FRAME_OFFSET, len(frames))[:] = frames
        self._mapped.store_i32(0, NODE_STATE_VERSION)
        self._mapped.flush()

    def _find_candidate_term(self) -> int:
        """Walk the frames up to the footer, and return the offset of the candidate term's block."""
        at = FIRST_FRAME_OFFSET
        while at + FRAMED_HEADER_LENGTH <= self._mapped.length:
            block_length, template_id, schema_id, _, length = FRAMED_HEADER.unpack(
                self._mapped.view(at, FRAMED_HEADER_LENGTH)
            )
            if schema_id != _TERM.schema.id:
                raise self._damage(at, f"a message of schema {schema_id}")
            if template_id == stored.NodeStateFooter.LAYOUT.template_id:
                break
            if not FRAMED_HEADER_LENGTH <= length <= self._mapped.length - at:
                raise self._damage(at, f"a message of {length} bytes")
            if template_id == _TERM.template_id:
                if min(block_length, length - FRAMED_HEADER_LENGTH) < _TERM.block_length:
                    raise self._damage(at, f"a candidate term of {block_length} bytes")
                return at + FRAMED_HEADER_LENGTH
            at += align(length, FRAME_ALIGNMENT)
        raise self._damage(at, "no candidate term before the end")

    def _damage(self, at: int, found: str) -> FileFormatError:
        return FileFormatError(
            f"node state file is damaged: {self.path} at offset {at}: {found}; a member must not"
            " forget its votes, so restore the file from a copy of this member"
        )

    @property
    def candidate_term(self) -> CandidateTerm:
        """What is stored at present."""
        return CandidateTerm(
            *(self._mapped.load_i64(self._base + field.offset) for field in _TERM.fixed)
        )

    def update(self, term: CandidateTerm) -> None:
        """Store a term: the id last, with release, so that a reader finds what belongs to it."""
        for name in ("log_position", "timestamp", "candidate_term_id"):
            self._mapped.store_i64(self._base + _AT[name], getattr(term, name))
        if self._sync_level > 0:
            self._mapped.flush()

    def propose_max(self, term: CandidateTerm) -> int:
        """Store a term if it is higher than the stored one; return the id that then stands."""
        stored = self.candidate_term.candidate_term_id
        if term.candidate_term_id <= stored:
            return stored
        self.update(term)
        return term.candidate_term_id
