from aerolog.archive.format.catalog_index import CatalogIndex
from aerolog.transport.memory.mapped_file import MappedFile

class EntryScan:
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
