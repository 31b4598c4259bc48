from array import array
from dataclasses import dataclass

from aerolog.transport.memory.counters import CountersReader

@dataclass(frozen=True, slots=True)
class ScannedCounters:
    ids: array[int]
    type_ids: array[int]
    values: array[int]
    registration_ids: array[int]
    owner_ids: array[int]
    reference_ids: array[int]
    keys: bytes
    label_offsets: array[int]
    labels: bytes

def scan_counters(reader: CountersReader) -> ScannedCounters: ...
