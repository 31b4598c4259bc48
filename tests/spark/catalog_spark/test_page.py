"""The programs in docs/catalog/spark.md, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from aerolog.testing.recordings import RecordingBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PAGE = Path(__file__).parents[3] / "docs" / "catalog" / "spark.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
SAID = [
    "|           0|      1001|  100|",
    "['position', 'reserved_value']",
    "|  4950|",
    "85\n",
    "True",
]


def test_programs_say_what_they_are_to_say(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "archive").mkdir()
    builder = RecordingBuilder()
    for index in range(100):
        builder.add(b'{"n": %d, "name": "some"}' % index)
    builder.write(tmp_path / "archive")
    texts = [text.replace("/data", str(tmp_path)) for text in PROGRAMS]
    names: dict[str, Any] = {}
    for text, said in zip(texts, SAID, strict=True):
        exec(text, names)
        assert said in capsys.readouterr().out, text
