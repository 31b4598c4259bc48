"""Golden files are read and compared by people, too: a change of a record changes a line."""

import json
from pathlib import Path

import pytest
from golden_data import GOLDEN_FILES, as_file


@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.name)
def test_each_record_is_a_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert as_file(json.loads(text)) == text


def test_an_entry_of_a_list_or_an_object_is_a_record() -> None:
    content = {
        "about": "text",
        "rows": [{"a": [1, 2]}, {"a": []}],
        "none": [],
        "by": {"x": {"y": 1}},
    }
    lines = as_file(content).splitlines()
    assert json.loads("\n".join(lines)) == content
    assert lines[2:5] == [' "rows": [', '  {"a": [1, 2]},', '  {"a": []}']
    assert lines[-4:] == [' "by": {', '  "x": {"y": 1}', " }", "}"]
