"""CRC-32 and CRC-32C (spec archive-files 10)."""

from __future__ import annotations

import platform
import zlib
from pathlib import Path
from random import Random

import pytest

from aerolog.archive.format.checksum import checksum_for, other_checksums
from aerolog.transport.errors import ConfigurationError

ALIASES = {
    "CRC-32": ["CRC-32", "io.aeron.archive.checksum.Crc32", "org.agrona.checksum.Crc32"],
    "CRC-32C": ["CRC-32C", "io.aeron.archive.checksum.Crc32c", "org.agrona.checksum.Crc32c"],
}


@pytest.mark.parametrize(
    ("alias", "name"), [(alias, name) for name in ALIASES for alias in ALIASES[name]]
)
def test_every_spelling_of_the_reference_is_understood(alias: str, name: str) -> None:
    checksum = checksum_for(alias)
    assert checksum is not None
    assert checksum.name == name


@pytest.mark.parametrize("name", ["", "  ", "CRC-16", "crc-32", "io.aeron.archive.checksum.Sha"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name.strip() or "empty"):
        checksum_for(name)


def test_no_name_is_no_checksum() -> None:
    assert checksum_for(None) is None


@pytest.mark.parametrize(("name", "value"), [("CRC-32", 0xCBF43926), ("CRC-32C", 0xE3069283)])
def test_check_values(name: str, value: int) -> None:
    for checksum in (checksum_for(name), *other_checksums(name)):
        assert checksum is not None
        assert checksum.compute(b"123456789") & 0xFFFFFFFF == value
        assert checksum.compute(b"") == 0


def test_all_ways_agree_at_every_length_and_alignment() -> None:
    data = Random(1).randbytes(700)
    for name in ALIASES:
        fast, others = checksum_for(name), other_checksums(name)
        assert fast is not None
        assert others[0].implementation == "table"
        for start in range(9):
            for stop in range(start, len(data)):
                part = data[start:stop]
                assert {fast.compute(part)} == {other.compute(part) for other in others}


@pytest.mark.parametrize("length", [255, 256, 257, 511, 512, 992, 1024, 1055, 65_536, 1_048_575])
def test_all_ways_agree_over_blocks(length: int) -> None:
    part = Random(length).randbytes(length)
    for name in ALIASES:
        fast = checksum_for(name)
        assert fast is not None
        assert {fast.compute(part)} == {other.compute(part) for other in other_checksums(name)}


def test_the_machines_instructions_are_used_where_it_has_them() -> None:
    cpu = Path("/proc/cpuinfo").read_text()
    found = {name: getattr(checksum_for(name), "implementation", None) for name in ALIASES}
    if platform.machine() == "x86_64":
        words = set(cpu.split())
        if {"vpclmulqdq", "avx512f", "avx512vl", "pclmulqdq", "sse4_2"} <= words:
            assert found == {"CRC-32": "vpclmul", "CRC-32C": "vpclmul"}
        elif {"pclmulqdq", "sse4_2"} <= words:
            assert found == {"CRC-32": "pclmul", "CRC-32C": "pclmul"}
        else:
            assert found["CRC-32"] == "table"
            assert found["CRC-32C"] == ("sse4.2" if "sse4_2" in words else "table")
    else:
        expected = "arm-crc" if "crc32" in cpu.split() else "table"
        assert set(found.values()) == {expected}


def test_crc32_is_that_of_zlib() -> None:
    checksum = checksum_for("CRC-32")
    assert checksum is not None
    data = Random(2).randbytes(70_001)
    assert checksum.compute(data) & 0xFFFFFFFF == zlib.crc32(data)


def test_stamping_a_block_that_does_not_hold_whole_frames_is_refused() -> None:
    checksum = checksum_for("CRC-32C")
    assert checksum is not None
    block = bytearray(96)
    block[0:8] = (33).to_bytes(4, "little") + b"\0\xc0\x01\0"
    block[64:68] = (33).to_bytes(4, "little")
    with pytest.raises(ValueError, match="offset 64"):
        checksum.stamp(block)
