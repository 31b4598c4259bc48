"""The reference still makes the bytes that tests/golden/data/reference-layouts.json has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from golden_data import layouts_of_the_reference

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

PROGRAM = Path(__file__).resolve().parents[3] / "scripts" / "reference_layouts.py"
#: What belongs to a run or a machine, with the offset of its first byte and of the next field.
START_AND_PID = (32, 48)
SOCKET_BUFFERS = (292, 316)


def without(text, first, end):
    data = bytearray.fromhex(text)
    data[first:end] = bytes(end - first)
    return data.hex()


def test_a_second_recording_is_the_same(tmp_path):
    again = tmp_path / "layouts.json"
    subprocess.run([sys.executable, PROGRAM, again], check=True, timeout=120)
    found, expected = json.loads(again.read_text()), layouts_of_the_reference()
    for layouts in (found, expected):
        layouts["cnc_header"] = without(layouts["cnc_header"], *START_AND_PID)
        layouts["log_metadata"] = without(layouts["log_metadata"], *SOCKET_BUFFERS)
    assert list(found) == list(expected)
    assert found == expected
