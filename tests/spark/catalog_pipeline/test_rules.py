"""Rules and dates, computed by Spark between reading and writing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pipelines_here import loaded_numbers, numbers, rows, visible, write_job

from aerolog.catalog.export import spark_runner
from aerolog.catalog.export.pipeline.errors import (
    DamagedInputError,
    PipelineError,
    RuleError,
    SparkRunError,
)
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import NoObserver, plan_job, run_job
from aerolog.catalog.export.spark_runner import SparkExecutor, quoted
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.catalog.export.pipeline.run_report import RunReport
    from aerolog.catalog.export.pipeline.units import Unit

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

RULES = """
[[rules]]
name = "small"
expression = "n < 1900"

[[rules]]
name = "short"
expression = "length(word) < 90"
on-broken = "keep"

[[rules]]
name = "seen"
expression = "1 / (n - 7) IS NOT NULL"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "archive").mkdir()
    return tmp_path


def run(path: Path, spark: Any) -> RunReport:
    job = load_job(path)
    return run_job(job, SparkExecutor(job, spark))


def with_rules(path: Path, rules: str) -> Path:
    path.write_text(path.read_text() + rules)
    return path


@pytest.fixture
def lenient(spark: Any) -> Any:
    """The session as a pipeline's own is: a rule that cannot be computed is null."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)


def test_rows_that_break_a_rule_are_rejected_or_counted(home: Path, lenient: Any) -> None:
    builder = numbers(0, 2000)
    at = builder.add(b"not json")
    builder.write(home / "archive")
    output = "date = \"date_add(DATE'2026-01-01', CAST(n / 1000 AS INT))\""
    path = with_rules(write_job(home, output=output), RULES)
    report = run(path, lenient)
    expected = [n for n in range(1900) if n != 7]
    assert loaded_numbers(home / "out") == expected
    table = rows(home / "out")
    days = {f"2026-01-0{1 + n // 1000}" for n in expected}
    assert set(map(str, table["date"].to_pylist())) == days
    assert report.kept == {"short": sum(1 for n in expected if n % 97 >= 90)}
    rejects = rows(home / "out", "rejects").to_pylist()
    assert report.rejected == len(rejects) == 102
    by_reason: dict[str, list[dict[str, Any]]] = {}
    for one in rejects:
        by_reason.setdefault(one["reason"], []).append(one)
    assert {json.loads(one["payload"])["n"] for one in by_reason["rule small: n < 1900"]} == set(
        range(1900, 2000)
    )
    (seven,) = by_reason["rule seen: 1 / (n - 7) IS NOT NULL"]
    assert json.loads(seven["payload"]) == {"n": 7, "word": "w" * 7}
    (undecoded,) = (one for one in rejects if one["position"] == at)
    assert undecoded["payload"] == b"not json"
    assert run(path, lenient).rows == 0


def test_a_rule_that_must_hold_ends_the_run(home: Path, lenient: Any) -> None:
    numbers(0, 100).write(home / "archive")
    rule = "[[rules]]\nname = 'n'\nexpression = 'n <> 50'\non-broken = 'fail'\n"
    says = r"position \d+ of recording 0 breaks rule n: n <> 50; nothing was loaded"
    with pytest.raises(DamagedInputError, match=says):
        run(with_rules(write_job(home), rule), lenient)
    assert visible(home / "out") == []


ODD_RULES = """
[[rules]]
name = "a"
expression = "n > 0"

[[rules]]
name = "odd"
expression = "wrd > 3"
"""
ODD_SAYS = (
    "rule odd: Spark does not understand 'wrd > 3': [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column,"
    " variable, or function parameter with name `wrd` cannot be resolved. Did you mean one of the"
    " following? [`n`, `word`,"
)


@pytest.mark.parametrize(
    ("rule", "key", "says"),
    [
        (ODD_RULES, "rules[1].expression", ODD_SAYS),
        (
            "",
            "output.date",
            "Spark does not understand 'to_date(day)': [UNRESOLVED_COLUMN.WITH_SUGGESTION]",
        ),
        (
            ODD_RULES.replace("wrd > 3", "sum(n) > 3"),
            "rules[1].expression",
            "rule odd: Spark does not understand 'sum(n) > 3': [MISSING_GROUP_BY]",
        ),
        (
            "",
            "output.date",
            "Spark does not understand 'n > 1': [DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION]",
        ),
    ],
)
def test_a_dry_run_says_what_spark_says_of_an_expression(
    home: Path,
    lenient: Any,
    capfd: pytest.CaptureFixture[str],
    rule: str,
    key: str,
    says: str,
) -> None:
    numbers(0, 10).write(home / "archive")
    expression = says.split("'")[1]
    output = f'date = "{expression}"' if key == "output.date" else ""
    path = with_rules(write_job(home, output=output), rule)
    job = load_job(path)
    for attempt in (lambda: plan_job(job, SparkExecutor(job, lenient)), lambda: run(path, lenient)):
        with pytest.raises(RuleError) as told:
            attempt()
        assert str(told.value).startswith(f"{path}: {key}: {says}")
        assert told.value.key == key
    assert "SQLQueryContextLogger" not in capfd.readouterr().err
    assert visible(home / "out") == []


def test_a_dry_run_of_a_sound_job_gives_its_plan(home: Path, lenient: Any) -> None:
    numbers(0, 10).write(home / "archive")
    job = load_job(with_rules(write_job(home), RULES))
    plan, unfinished = plan_job(job, SparkExecutor(job, lenient))
    assert (len(plan.units), unfinished) == (1, [])
    assert not (home / "out").exists()


def test_progress_is_told_in_bytes(home: Path, lenient: Any) -> None:
    numbers(0, 1800).write(home / "archive")
    for rules in ("", RULES):
        told: list[int] = []

        class Observer(NoObserver):
            def done(self, length: int) -> None:
                told.append(length)  # noqa: B023 - used in this round only

        path = with_rules(write_job(home, to=f"out{len(rules)}"), rules)
        job = load_job(path)
        plan, _ = plan_job(job)
        assert len(plan.units) > 1
        run_job(job, SparkExecutor(job, lenient), observer=Observer())
        assert told == sorted(told)
        assert told[-1] == plan.length


@pytest.mark.parametrize("expression", ["m < 3", "n <", "nope(n)"])
def test_a_rule_that_spark_does_not_understand_is_named(
    home: Path, lenient: Any, expression: str
) -> None:
    numbers(0, 10).write(home / "archive")
    rule = f"[[rules]]\nname = 'odd'\nexpression = '{expression}'\n"
    with pytest.raises(RuleError, match="rule odd: Spark does not understand"):
        run(with_rules(write_job(home), rule), lenient)
    assert visible(home / "out") == []


NAMES = (
    *("a.b", "a`b", "a b", "it's", 'a"b', "größe", "日本", "select", "`", "``", ".", "a.`b`.c"),
    *("0", "count(*)", "a,b", "a\\b", "-", "CASE"),
)
NAMED_JOB = """
name = "names"
archive-dir = "archive"

[decode]
decoder = "json"

[output]
to = "{to}"
{output}
"""


def named_messages(home: Path, names: tuple[str, ...]) -> None:
    builder = RecordingBuilder()
    for n in range(50):
        builder.add(json.dumps({"n": n, **dict.fromkeys(names, n)}).encode())
    builder.write(home / "archive")


@pytest.mark.parametrize("how", ["rule", "date", "rule on each name"])
def test_columns_may_have_any_names(home: Path, lenient: Any, how: str) -> None:
    named_messages(home, NAMES)
    output = "date = \"date_add(DATE'2026-01-01', CAST(n % 2 AS INT))\"" if how == "date" else ""
    path = write_job(home, output=output, text=NAMED_JOB)
    judged = () if how == "date" else ("n",) if how == "rule" else NAMES
    for number, name in enumerate(judged):
        expression = f"{quoted(name)} <> 7" if number == 0 else f"{quoted(name)} >= 0"
        toml = json.dumps(expression, ensure_ascii=False)
        with_rules(path, f"[[rules]]\nname = 'r{number}'\nexpression = {toml}\n")
    report = run(path, lenient)
    expected = [n for n in range(50) if n != 7 or how == "date"]
    assert (report.rows, report.rejected) == (len(expected), 50 - len(expected))
    table = rows(home / "out")
    for name in ("n", *NAMES):
        assert sorted(table[name].to_pylist()) == expected, name
    if how != "date":
        (seven,) = rows(home / "out", "rejects").to_pylist()
        assert json.loads(seven["payload"]) == {"n": 7, **dict.fromkeys(NAMES, 7)}


def test_names_that_differ_by_case_are_refused(home: Path, lenient: Any) -> None:
    named_messages(home, ("key", "Key"))
    path = with_rules(
        write_job(home, text=NAMED_JOB), "[[rules]]\nname = 'r'\nexpression = 'n >= 0'\n"
    )
    with pytest.raises(PipelineError, match="two columns would have the name 'Key'"):
        run(path, lenient)
    assert visible(home / "out") == []


@pytest.mark.parametrize("rules", ["", RULES])
def test_a_worker_that_dies_is_told_with_recording_and_range(
    home: Path, lenient: Any, monkeypatch: pytest.MonkeyPatch, rules: str
) -> None:
    def dies(unit: Unit, *arguments: Any, **options: Any) -> Iterator[Any]:
        import os
        import signal

        from aerolog.catalog.export.pipeline.unit_reader import load

        if unit.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return load(unit, *arguments, **options)

    numbers(0, 2000).write(home / "archive")
    job = load_job(with_rules(write_job(home), rules))
    plan, _ = plan_job(job)
    (part,) = plan.units[1].slices
    monkeypatch.setattr(spark_runner, "load", dies)
    with pytest.raises(SparkRunError) as raised:
        run_job(job, SparkExecutor(job, lenient))
    where = f"recording 0 from {part.from_position} to {part.until_position} of {home}/archive"
    assert where in str(raised.value)
    assert "the worker process died" in str(raised.value)
    assert visible(home / "out") == []
