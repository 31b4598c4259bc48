from aerolog.transport.memory.mapped_file import MappedFile

class CatalogIndex:
    """Where the VALID entries of a catalog are, and whose streams they hold: 24 bytes each.

    Ids ascend. Session and stream ids are those at the time of the walk or of the last
    ``set_streams``; whoever does not write the catalog asks with ``fresh``: a recording may be
    extended with another session.
    """

    def __len__(self) -> int: ...
    def add(self, recording_id: int, offset: int, session_id: int, stream_id: int) -> None:
        """Append an entry.

        Raises:
            ValueError: its id is not above all others.
        """

    def offset_of(self, recording_id: int) -> int:
        """Offset of an entry in the file, -1 when there is none of that id."""

    def remove(self, recording_id: int) -> bool:
        """Forget an entry; whether there was one."""

    def shift(self, behind: int, difference: int) -> None:
        """Entries at offsets above ``behind`` have moved by so many bytes."""

    def set_streams(self, recording_id: int, session_id: int, stream_id: int) -> None:
        """An entry has other ids of session and stream now."""

    def ids(self) -> list[int]:
        """All ids, ascending."""

    def offsets(self) -> list[int]:
        """Offsets of all entries, in the order of their ids."""

    def active(self, catalog: MappedFile) -> list[int]:
        """Ids of the entries that have no stop position."""

    def find_last(
        self,
        catalog: MappedFile,
        min_recording_id: int,
        session_id: int,
        stream_id: int,
        fragment: bytes,
        fresh: bool = False,
    ) -> int:
        """Highest id from ``min_recording_id`` up that matches, -1 when there is none."""

    def matching(
        self,
        catalog: MappedFile,
        from_recording_id: int,
        limit: int,
        stream_id: int | None,
        fragment: bytes,
    ) -> tuple[list[int], int, bool]:
        """Look at up to ``limit`` entries from an id on.

        Args:
            catalog: the file.
            from_recording_id: lowest id to look at.
            limit: entries to look at, 1 or more.
            stream_id: wanted, None for any; then the fragment does not count either.
            fragment: contained in the original channel.

        Returns:
            Ids that match; the id behind the last one looked at, ``from_recording_id`` when there
            was none; whether the end was reached.
        """
