"""A job file is checked whole; what is wrong is named with its key and value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.catalog.export.pipeline.errors import JobFileError
from aerolog.catalog.export.pipeline.job import Rule, load_job

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
name = "orders"
catalog = "postgresql+psycopg://loader:${PASSWORD_OF_TEST}@db/fleet"
archive-dir = "archive"
sync = false

[recordings]
stream = 1001
tag = { carrier = "AA" }

[decode]
decoder = "json"
schema = "n int64"
samples = 100

[[rules]]
name = "small"
expression = "n < 10"

[[rules]]
name = "even"
expression = "n % 2 = 0"
on-broken = "keep"

[output]
to = "s3://lake/orders?region=eu-west-1"
date = "to_date(day)"
date-column = "day"
compression = "snappy"
unit-bytes = "64m"
rejected-max = 0
skip-damage = true
on-purged = "fail"

[spark]
master = "spark://master:7077"
[spark.conf]
"spark.executor.memory" = "1g"
spark.executor.cores = 2
"""
LEAST = 'name = "n"\narchive-dir = "a"\n[output]\nto = "out"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(text)
    return path


def test_everything_that_a_job_can_say_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD_OF_TEST", "secret")
    job = load_job(written(tmp_path, WHOLE))
    assert job.name == "orders"
    assert job.catalog == "postgresql+psycopg://loader:secret@db/fleet"
    assert job.archive_dir == str(tmp_path / "archive")
    assert not job.sync
    assert job.conditions == {"stream": 1001, "tag": {"carrier": "AA"}}
    assert job.decoder == "json"
    assert job.decoder_options == {"schema": "n int64", "samples": "100"}
    assert job.rules == (Rule("small", "n < 10"), Rule("even", "n % 2 = 0", "keep"))
    output = job.output
    assert output.to == "s3://lake/orders?region=eu-west-1"
    assert (output.date, output.date_column) == ("to_date(day)", "day")
    assert (output.compression, output.unit_bytes) == ("snappy", 64 * 1024 * 1024)
    assert (output.rejected_max, output.skip_damage, output.on_purged) == (0.0, True, "fail")
    assert job.master == "spark://master:7077"
    assert job.spark_conf == {"spark.executor.memory": "1g", "spark.executor.cores": "2"}


def test_places_are_beside_the_file(tmp_path: Path) -> None:
    text = LEAST.replace('archive-dir = "a"', 'catalog = "sqlite:///db/c.db"')
    job = load_job(written(tmp_path, text))
    assert job.catalog == f"sqlite:///{tmp_path}/db/c.db"
    assert job.output.to == str(tmp_path / "out")
    (tmp_path / "orders.desc").write_bytes(b"")
    more = text + '[decode]\ndecoder = "protobuf"\ndescriptor = "orders.desc"\n'
    assert load_job(written(tmp_path, more)).decoder_options == {
        "descriptor": str(tmp_path / "orders.desc")
    }


def test_what_is_given_beside_the_file_goes_before_it(tmp_path: Path) -> None:
    job = load_job(written(tmp_path, LEAST), catalog="sqlite:////c.db", archive_dir="/archive")
    assert (job.catalog, job.archive_dir) == ("sqlite:////c.db", "/archive")


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("name = 1\n[output]\nto='x'", "archive-dir", "is missing"),
        ("archive-dir = 'a'\n[output]\nto='x'", "name", "is missing"),
        ("archive-dir = 'a'\nname = 'a b'\n[output]\nto='x'", "name", "'a b' may have"),
        ("archive-dir = 'a'\nname = 'a'", "output.to", "is missing"),
        (LEAST + "too = 1", "output.too", "no such key; there are to"),
        ("nam = 'x'\n" + LEAST, "nam", "no such key"),
        (LEAST + "[output2]", "output2", "no such key"),
        (LEAST + "compression = 'lzma'", "output.compression", "'lzma' is not one of zstd"),
        (LEAST + "compression-level = 40", "output.compression-level", "40 is not between"),
        (LEAST + "unit-bytes = 'big'", "output.unit-bytes", "'big' is not a size"),
        (LEAST + "unit-bytes = 0", "output.unit-bytes", "must be more than 0"),
        (LEAST + "rejected-max = 2", "output.rejected-max", "2 is not between 0 and 1"),
        (LEAST + "rejected-max = true", "output.rejected-max", "True is not a number"),
        (LEAST + "format = 'iceberg'", "output.format", "there is none for Spark 4.3"),
        (LEAST + "format = 'orc'", "output.format", "'orc' is not one of parquet"),
        (LEAST + "[[rules]]\nname = 'r'", "rules[0].expression", "is missing"),
        (LEAST + "[rules]\nname = 'r'", "rules", "is not a list of tables"),
        (LEAST + "[[rules]]\nexpression='n'\nname='r'\nat=1", "rules[0].at", "no such key"),
        (
            LEAST + "[[rules]]\nname='r'\nexpression='a'\n[[rules]]\nname='r'\nexpression='b'",
            "rules",
            "two rules have the name 'r'",
        ),
        (LEAST + "[spark]\nmaster = 4", "spark.master", "4 is not a text"),
        (LEAST + "[spark]\ncores = 4", "spark.cores", "no such key"),
        (LEAST + "date = '${NOT_SET_ANYWHERE}'", "output.date", "no variable NOT_SET_ANYWHERE"),
        ("name = ", None, "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, key: str | None, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(JobFileError) as caught:
        load_job(path)
    assert caught.value.key == key
    assert str(caught.value).startswith(str(path))
    assert says in str(caught.value)
    assert key is None or f": {key}: " in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match=r"none\.toml: cannot be read: No such file"):
        load_job(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(JobFileError, match="is not UTF-8 at byte 8"):
        load_job(tmp_path / "b.toml")


def test_rows_have_their_times_from_what_the_file_says(tmp_path: Path) -> None:
    assert str(load_job(written(tmp_path, LEAST)).time_source) == "index"
    job = load_job(written(tmp_path, f'time-source = "16"\n{LEAST}'))
    assert str(job.time_source) == "16"
    with pytest.raises(JobFileError, match=r"time-source.*'clock' is no source of times"):
        load_job(written(tmp_path, f'time-source = "clock"\n{LEAST}'))


@pytest.mark.parametrize(
    "text",
    [
        'time-source = "${SECRET_OF_TEST}"',
        'catalog = 3\nname = "${SECRET_OF_TEST} x"',
        '[output]\nto = "out"\ncompression = "${SECRET_OF_TEST}"',
        '[output]\nto = "out"\nunit-bytes = "${SECRET_OF_TEST}"',
        '[[rules]]\nname = "-${SECRET_OF_TEST}-!"\nexpression = "true"',
        'recordings = "${SECRET_OF_TEST}"',
    ],
)
def test_a_refused_value_of_a_variable_is_shown_by_its_name(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "hush'\\hush")
    names = "" if "name =" in text.partition("[")[0] else 'name = "orders"\n'
    with pytest.raises(JobFileError) as caught:
        load_job(written(tmp_path, f'{names}archive-dir = "archive"\n{text}\n'))
    assert "hush" not in str(caught.value)
    if "catalog" not in text:
        assert "${SECRET_OF_TEST}" in str(caught.value)
