from array import array

from typing_extensions import Buffer

class EntryScan:
    """What one walk over a catalog found.

    Attributes:
        ids: of the VALID entries, ascending (array type ``q``).
        offsets: of the same entries in the file.
        end_offset: behind the last entry.
        last_id: of the last entry in any state, -1 when there is none.
        last_offset: of the last entry in any state, -1 when there is none.
        bad_offset: where the walk met something impossible, -1 when nowhere.
        bad_value: what stood there.
        problem: what is wrong with it.
    """

    ids: array[int]
    offsets: array[int]
    end_offset: int
    last_id: int
    last_offset: int
    bad_offset: int
    bad_value: int
    problem: str

def scan_entries(catalog: Buffer, start: int, alignment: int) -> EntryScan: ...
