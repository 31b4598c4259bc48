"""The programs in docs/catalog/parquet.md, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parents[3] / "docs" / "catalog" / "parquet.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
SAID = ["0 3 192\n", "True 1 []\n", "3 0\n"]


def test_every_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "archive").mkdir()
    builder = RecordingBuilder()
    for message in (b"first", b"second", b"third"):
        builder.add(message)
    builder.write(tmp_path / "archive")
    for program, said in zip(PROGRAMS, SAID, strict=True):
        exec(compile(program, str(PAGE), "exec"), {})
        assert capsys.readouterr().out == said
