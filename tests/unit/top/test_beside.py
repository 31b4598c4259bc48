"""Time indexes, health and retention in a few words, and in their place above the recordings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aerolog.archive.retention.holds import Hold
from aerolog.archive.retention.journal import Run
from aerolog.tools.top.archive_page import ArchivePage
from aerolog.tools.top.companion_text import health_words, index_words, is_failed, retention_words
from aerolog.tools.top.glyphs import BLOCKS
from aerolog.tools.top.measurement import ArchiveFigures
from aerolog.tools.top.text_lines import Style, plain
from aerolog.tools.top.top_model import Model
from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView

NOW_MS = 1_800_000_000_000
RUN = Run(1, NOW_MS - 65_000, NOW_MS - 60_000, bytes=2_000_000)


def test_words_of_what_is_not_there_are_none() -> None:
    assert (index_words(3, {}), health_words({}), retention_words(None, NOW_MS)) == ("", "", "")


def test_indexes_are_counted_against_recordings() -> None:
    indexes = {1: IndexView("clock"), 2: IndexView("clock", problems=("cut",))}
    assert index_words(5, indexes) == "2/5, 1 faulty"


def test_the_worst_health_comes_first() -> None:
    states = ["sound", "damaged", "unchecked", "sound", "changed"]
    health = {n: HealthView(state) for n, state in enumerate(states)}
    assert health_words({0: health[0]}) == "1 sound"
    assert health_words(health) == "1 damaged, 1 changed, 1 unchecked"


@pytest.mark.parametrize(
    ("seen", "words", "failed"),
    [
        (RetentionView(), "never ran", False),
        (RetentionView(last_run=RUN), "1m00s ago, -2.00 MB", False),
        (
            RetentionView(last_run=replace(RUN, error="no answer")),
            "failed 1m00s ago, -2.00 MB",
            True,
        ),
        (
            RetentionView(last_run=replace(RUN, end_ms=None)),
            "failed 1m05s ago, -2.00 MB",
            True,
        ),
        (
            RetentionView(is_running=True, last_run=replace(RUN, end_ms=None)),
            "runs, -2.00 MB",
            False,
        ),
        (
            RetentionView(holds=(Hold(1, "audit"), Hold(2, "trial", NOW_MS))),
            "never ran, 1 held",
            False,
        ),
        (RetentionView(problems=("no JSON",)), "never ran", True),
    ],
)
def test_retention_is_told_by_its_last_run(seen: RetentionView, words: str, failed: bool) -> None:
    assert (retention_words(seen, NOW_MS), is_failed(seen)) == (words, failed)


def test_what_is_bad_stands_out() -> None:
    model = Model()
    model.archive = ArchiveFigures(
        "/data", "archive live", index="1/1", health="1 damaged", is_sound=False, retention="runs"
    )
    page = ArchivePage(BLOCKS)
    page.refresh(model)
    line = page.head(80)[1]

    assert plain(line) == " index 1/1  health 1 damaged  retention runs "
    assert [style for text, style in line if "damaged" in text] == [Style.BAD]
    assert Style.BAD not in [style for text, style in line if "damaged" not in text]
