"""The samples on the pages of the site run as they stand and print what the pages say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_data import GOLDEN_ARCHIVE
from page_samples import ROOT, differs, run_page, samples
from shared_memory import memory_path

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

DOCS = ROOT / "docs"
FOLDERS = ("start", "concepts", "how-to", "operations", "compatibility")
ALSO = ("archive/security.md", "reference/channel-uri.md", "reference/client.md")
HERE = sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md") if samples(page))
HERE += [DOCS / name for name in ALSO]
HERE.remove(DOCS / "start" / "break-and-find.md")
HERE.remove(DOCS / "how-to" / "count-messages-once.md")
# Pages with programs that other tests run.
ELSEWHERE = {
    "start/break-and-find.md": "tests/pages/test_story.py",
    "archive/replay-merge.md": "tests/interop/archive_join/test_documented_programs.py",
    "archive/replication.md": "tests/unit/archive_service/test_documented_programs.py",
    "archive/storage.md": "tests/unit/archive_service/test_documented_programs.py",
    **{
        f"archive/{name}.md": "tests/pages/test_time_pages.py"
        for name in ("merged-replay", "replay-by-time", "retention", "time-index", "verification")
    },
    "catalog/arrow.md": "tests/unit/catalog_scan/test_documented_programs.py",
    "catalog/decoders.md": "tests/unit/catalog_decoders/test_documented_programs.py",
    "catalog/parquet.md": "tests/unit/catalog_parquet/test_documented_programs.py",
    "catalog/search.md": "tests/unit/catalog_search/test_commands.py",
    "catalog/spark.md": "tests/spark/catalog_spark/test_page.py",
    "catalog/sql.md": "tests/unit/catalog_sql/test_documented_program.py",
    "cluster/client.md": "tests/cluster/cluster_client/test_sessions.py",
    "cluster/first-service.md": "tests/cluster/cluster_examples/test_first_service.py",
    "cluster/module.md": "tests/cluster/cluster_module/test_extensions.py",
    "cluster/operations.md": "tests/cluster/cluster_module/test_operations.py",
    "how-to/count-messages-once.md": "tests/cluster/cluster_client/test_counting_once.py",
    "cluster/services.md": "tests/cluster/cluster_service/test_command.py",
    "index.md": "tests/docs/test_readme.py",
    "guide/from-recordings-to-a-chart.md": "tests/unit/examples/test_recordings_to_chart.py",
    "reference/archive-client.md": "tests/interop/test_documented_programs.py",
    "reference/catalog.md": "tests/unit/catalog_scan/test_documented_programs.py",
    "reference/driver.md": "tests/unit/driver/test_documented_program.py",
    "tools/doctor.md": "tests/unit/doctor/test_page.py",
    "testing-with-simulation.md": "tests/sim/test_documented_programs.py",
    **{
        f"transport/{page.name}": "tests/unit/network_names/test_documented_programs.py"
        for page in (DOCS / "transport").glob("*.md")
    },
    "transport/own-strategies.md": "tests/unit/network_names/test_documented_strategies.py",
}


def test_every_page_with_a_program_is_run_by_some_test() -> None:
    shown = {page.relative_to(DOCS).as_posix(): page.read_text() for page in DOCS.rglob("*.md")}
    with_programs = {
        name
        for name, text in shown.items()  # command lines of tools: see test_command_lines
        if re.search(r"^```(python|sh)$", text, re.MULTILINE)
        and not (name.startswith("tools/") and "```python" not in text)
    }
    here = {page.relative_to(DOCS).as_posix() for page in HERE}
    assert with_programs - here - ELSEWHERE.keys() == set()


@pytest.mark.parametrize("page", ELSEWHERE)
def test_the_test_that_runs_a_page_names_it(page: str) -> None:
    name = "transport" if page.startswith("transport/") else Path(page).stem
    assert re.search(rf"\b{name}\b", (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8"))


def marked(page: Path) -> ParameterSet:
    """A page as a parameter; one that starts Spark belongs to that suite."""
    starts_spark = "pyspark" in page.read_text(encoding="utf-8")
    marks = [pytest.mark.spark] if starts_spark else []
    return pytest.param(page, id=f"{page.parent.name}-{page.stem}", marks=marks)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [marked(page) for page in HERE])
def test_a_page_s_samples_do_what_it_says(page: Path, tmp_path: Path) -> None:
    aeron_dir = memory_path(f"docs-{page.stem}")
    environment = {
        "AERON_DIR": str(aeron_dir),
        "AERON_DRIVER_TIMEOUT": "60000",
        "GOLDEN": str(GOLDEN_ARCHIVE),
    }
    try:
        said = run_page(page, tmp_path, environment)
        run_page(page, tmp_path, environment)  # again, where there is what the first run has left
    finally:
        for path in aeron_dir.parent.glob(f"{aeron_dir.name}*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:  # errors that a driver left, saved when the next one started
                path.unlink()
    different = [text for sample, out in said if (text := differs(sample, out))]
    assert not different, f"{page.name}\n" + "\n".join(different)
