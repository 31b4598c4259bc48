from aerolog.archive.files.catalog_index import CatalogIndex
from aerolog.transport.memory.mapped_file import MappedFile

class EntryScan:
    """What one walk over a catalog found.

    Attributes:
        index: of the VALID entries.
        end_offset: behind the last entry.
        last_id: of the last entry in any state, -1 when there is none.
        last_offset: of the last entry in any state, -1 when there is none.
        bad_offset: where the walk met something impossible, -1 when nowhere.
        bad_value: what stood there.
        problem: what is wrong with it.
    """

    index: CatalogIndex
    end_offset: int
    last_id: int
    last_offset: int
    bad_offset: int
    bad_value: int
    problem: str

def scan_entries(catalog: MappedFile, start: int, alignment: int) -> EntryScan: ...
def ids_in_state(
    catalog: MappedFile, start: int, end: int, alignment: int, state: int
) -> list[int]: ...
