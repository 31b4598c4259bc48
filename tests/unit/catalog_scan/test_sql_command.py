"""``aerolog catalog sql``."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.main import main


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder(stream_id=10, session_id=5)
    for payload in (b"a word", b"\xff\x00", b"[bold]"):
        builder.add(payload)
    builder.write(folder)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
    return folder


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["catalog", "sql", *arguments])
    told = capfd.readouterr()
    return code, told.out, told.err


def test_rows_are_printed_for_people(archive: Path, capfd) -> None:
    query = "SELECT position, payload FROM frames ORDER BY position"
    code, out, err = run(capfd, query, "--archive-dir", str(archive))
    assert (code, err) == (0, "")
    assert [line.strip().split(maxsplit=1) for line in out.splitlines()] == [
        ["position", "payload"],
        ["64", "a word"],
        ["128", "x'ff00'"],
        ["192", "[bold]"],
    ]


def test_rows_are_printed_for_programs(archive: Path, capfd) -> None:
    query = (
        "SELECT position AS p, payload, {'a': payload} AS s, now() > '2000-01-01' AS b FROM frames"
    )
    code, out, _ = run(capfd, query, "--archive-dir", str(archive), "--json")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"p": 64, "payload": "a word", "s": {"a": "a word"}, "b": True},
        {"p": 128, "payload": "/wA=", "s": {"a": "/wA="}, "b": True},
        {"p": 192, "payload": "[bold]", "s": {"a": "[bold]"}, "b": True},
    ]


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["for people", "for programs"])
def test_values_of_all_types_are_printed(archive: Path, capfd, form: tuple[str, ...]) -> None:
    code, out, err = run(
        capfd, "SELECT * FROM test_all_types()", "--archive-dir", str(archive), *form
    )
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == (3 if form else 4)


def test_times_that_python_does_not_hold_are_texts(archive: Path, capfd) -> None:
    query = (
        "SELECT DATE '5000000-01-01' AS d, [TIMESTAMP 'infinity'] AS l,"
        " {'t': TIMESTAMP '-infinity', 'n': 1} AS s, MAP {'k': DATE '5000000-01-01'} AS m"
    )
    code, out, err = run(capfd, query, "--archive-dir", str(archive), "--json")
    assert (code, err) == (0, "")
    far = "<value out of range: 1825492972>"
    assert json.loads(out) == {
        "d": far,
        "l": ["<value out of range: 9223372036854775807>"],
        "s": {"t": "<value out of range: -9223372036854775807>", "n": 1},
        "m": [["k", far]],
    }


def test_a_query_that_is_no_text_is_refused(archive: Path, capfd) -> None:
    code, out, err = run(capfd, "SELECT '\udcff'", "--archive-dir", str(archive))
    assert (code, out) == (1, "")
    assert "the text of the query is not UTF-8" in err


def test_a_query_may_come_from_stdin(archive: Path, capfd, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT stream_id FROM streams"))
    url = f"sqlite:///{archive}/aerolog-catalog.db"
    code, out, _ = run(capfd, "-", "--catalog", url, "--json")
    assert (code, json.loads(out)) == (0, {"stream_id": 10})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"SELECT 1" + b" " * 1024 * 1024, "longer than 1048576 characters"),
        (b"SELECT '\xff'", "no text"),
    ],
)
def test_standard_input_is_bounded_text(
    archive: Path, capfd, monkeypatch, content: bytes, reason: str
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    code, out, err = run(capfd, "-", "--archive-dir", str(archive))
    assert (code, out) == (1, "")
    assert f"standard input is {reason}" in err
    assert stdin.buffer.tell() <= 2 * 1024 * 1024  # not read to its end, which there may not be


def test_what_is_wrong_is_a_line_on_stderr(archive: Path, capfd) -> None:
    for query, text in (
        ("SELECT * FROM read_text('/etc/hostname')", "file system operations are disabled"),
        ("DROP VIEW frames", "DROP is not allowed"),
        ("SELECT nothing FROM frames", "nothing"),
    ):
        code, out, err = run(capfd, query, "--archive-dir", str(archive))
        assert (code, out) == (1, "")
        assert text in err
        assert len(err.splitlines()) == 1


def test_files_of_an_allowed_folder_are_in_reach(archive: Path, tmp_path: Path, capfd) -> None:
    target = tmp_path / "out.csv"
    code, out, _ = run(
        capfd,
        f"COPY (SELECT count(*) AS n FROM frames) TO '{target}'",
        "--archive-dir",
        str(archive),
        "--allow-files",
        str(tmp_path),
        "--json",
    )
    assert (code, json.loads(out)) == (0, {"rows": 1})
    assert target.read_text() == "n\n3\n"


def test_what_is_behind_damage_is_read_with_a_word(archive: Path, capfd) -> None:
    builder = RecordingBuilder()
    for index in range(2000):
        builder.add(b"%090d" % index)
    builder.write(archive)
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        sync_folder(catalog, archive)
    (archive / "1-65536.rec").unlink()
    arguments = ("SELECT count(*) AS n FROM frames", "--archive-dir", str(archive), "--json")
    code, _, err = run(capfd, *arguments)
    assert code != 0
    assert "1-65536.rec" in err
    code, out, err = run(capfd, *arguments, "--skip-damage")
    assert code == 0
    assert 0 < json.loads(out)["n"] < 2003
    assert f"recording 1 of {archive}: positions 65536 to 131072 cannot be read: " in err


PRICES = [b'{"symbol":"AB","price":2.5}', b"no JSON", b'{"symbol":"CD","price":4}']


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    folder = tmp_path / "prices"
    folder.mkdir()
    builder = RecordingBuilder()
    for payload in PRICES:
        builder.add(payload)
    builder.write(folder)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
    return folder


@pytest.mark.parametrize(
    "asked",
    [
        "payload->>'price'",
        "f.payload ->> '$.price'",
        "json_extract_string(payload, 'price')",
        "json_extract(payload, '$.price')",
        "payload->'price'",
        "f.Payload -> '$.price'",
        "payload::JSON->'price'",
        "try_cast(f.payload AS json)->>'price'",
        "(payload::JSON)->'price'",
    ],
)
def test_json_in_bytes_is_no_silent_null(prices: Path, capfd, asked: str) -> None:
    code, out, err = run(capfd, f"SELECT {asked} FROM frames f", "--archive-dir", str(prices))
    assert (code, out) == (1, "")
    assert "these are bytes and no JSON: write decode(payload) in place of payload" in err
    decoded = re.sub(r"(f\.)?payload", "decode(payload)", asked, flags=re.IGNORECASE)
    query = f"SELECT {decoded} AS price FROM frames WHERE position <> 128"
    code, out, _ = run(capfd, query, "--archive-dir", str(prices), "--json")
    assert code == 0
    assert [json.loads(line)["price"] for line in out.splitlines()] == ["2.5", "4"]


@pytest.mark.parametrize("name", ["payload", "f.payload"])
def test_a_cast_named_payload_is_still_no_silent_null(prices: Path, capfd, name: str) -> None:
    query = f"SELECT {name}::JSON AS payload FROM frames f"
    code, out, err = run(capfd, query, "--archive-dir", str(prices))
    assert (code, out) == (1, "")
    assert "these are bytes and no JSON" in err


@pytest.mark.parametrize(
    "asked",
    [
        "json(payload)",
        "json_type(payload)",
        "JSON_VALUE(payload, '$.price')",
        "json_extract_path_text(f.payload, 'price')",
        "json_keys(payload)",
        "json_valid(payload)",
        """from_json(payload, '{"price": "DOUBLE"}')""",
    ],
)
def test_functions_of_json_do_not_take_bytes(prices: Path, capfd, asked: str) -> None:
    code, out, err = run(capfd, f"SELECT {asked} FROM frames f", "--archive-dir", str(prices))
    assert (code, out) == (1, "")
    assert "these are bytes and no JSON" in err
    decoded = re.sub(r"(f\.)?payload", "decode(payload)", asked)
    query = f"SELECT {decoded} AS x FROM frames WHERE position <> 128"
    assert run(capfd, query, "--archive-dir", str(prices))[0] == 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p->>'price' AS x FROM (SELECT payload AS p FROM frames)",
        "WITH c AS (SELECT payload AS p, * FROM frames) SELECT p->'price' AS x FROM c WHERE TRUE",
        "WITH c(b) AS MATERIALIZED (SELECT payload FROM frames) SELECT json(b) AS x FROM c",
        "SELECT g.b::JSON AS x FROM recordings JOIN (SELECT payload AS b FROM frames) g ON TRUE",
        "SELECT count(*) AS x FROM (SELECT payload FROM frames) f(b) WHERE b->>'price' = '4'",
        "SELECT e.value AS x FROM (SELECT payload AS p FROM frames) f, json_each(f.p) e",
        "SELECT (SELECT p->'price') AS x FROM (SELECT payload AS p FROM frames)",
        "SELECT p->'price' AS x FROM (SELECT payload AS p FROM frames UNION SELECT 'a'::BLOB)",
        "SELECT (p || p)->'price' AS x FROM (SELECT payload AS p FROM frames)",
        "SELECT l[1]->'price' AS x FROM (SELECT [payload] AS l FROM frames)",
        "SELECT any_value(payload)->>'price' AS x FROM frames GROUP BY position",
    ],
)
def test_bytes_under_another_name_are_no_silent_null(prices: Path, capfd, query: str) -> None:
    code, out, err = run(capfd, query, "--archive-dir", str(prices))
    assert (code, out) == (1, "")
    assert "these are bytes and no JSON" in err, err


def test_texts_under_any_name_are_json(prices: Path, capfd) -> None:
    query = (
        "WITH c AS (SELECT '{\"a\":1}' AS payload, '{\"b\":2}'::JSON AS j FROM frames LIMIT 1)"
        " SELECT payload->'a', payload->>'a', p->'b', json_keys(payload)::JSON->>0, t->0"
        " FROM (SELECT payload, j AS p, [1]::JSON AS t FROM c)"
    )
    code, out, err = run(capfd, query, "--archive-dir", str(prices), "--json")
    assert (code, err) == (0, "")
    row = json.loads(out)
    assert list(row.values()) == ["1", "1", "2", "a", "1"]
    assert list(row)[:2] == ["(payload -> 'a')", "(payload ->> 'a')"]


def test_a_copy_writes_no_silent_null(prices: Path, tmp_path: Path, capfd) -> None:
    target = tmp_path / "written.csv"
    query = f"COPY (SELECT payload->'price' FROM frames) TO '{target}'"
    allowed = ["--archive-dir", str(prices), "--allow-files", str(tmp_path)]
    code, out, err = run(capfd, query, *allowed)
    assert (code, out) == (1, "")
    assert "these are bytes and no JSON" in err
    assert not target.exists()


def test_a_long_sum_is_counted(prices: Path, capfd) -> None:
    query = f"SELECT {'+'.join(['1'] * 600)} AS total"
    code, out, _ = run(capfd, query, "--archive-dir", str(prices), "--json")
    assert (code, json.loads(out)) == (0, {"total": 600})


def test_a_column_that_a_query_names_payload_is_its_own(prices: Path, capfd) -> None:
    query = (
        "WITH texts AS (SELECT decode(payload) AS payload FROM frames WHERE position <> 128)"
        " SELECT payload->'price' AS price FROM texts"
    )
    code, out, _ = run(capfd, query, "--archive-dir", str(prices), "--json")
    assert code == 0
    assert [json.loads(line)["price"] for line in out.splitlines()] == ["2.5", "4"]


@pytest.mark.parametrize(
    "options", [[], ["--decoder-option", "schema=symbol string, price double"]]
)
def test_a_decoder_gives_the_messages_their_columns(
    prices: Path, capfd, options: list[str]
) -> None:
    def asked(query: str) -> list[dict]:
        code, out, err = run(
            capfd, query, "--archive-dir", str(prices), "--json", "--decoder", "json", *options
        )
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    assert asked("SELECT sum(price) AS s FROM messages") == [{"s": 6.5}]
    assert asked(
        "SELECT m.symbol, r.start_position FROM messages m"
        " JOIN recordings r USING (archive_fk, recording_id) WHERE position > 64 AND price > 3"
    ) == [{"symbol": "CD", "start_position": 0}]
    (reject,) = asked("SELECT * FROM rejects")
    assert (reject["position"], reject["payload"]) == (128, "no JSON")
    assert reject["reason"].startswith("not JSON")
    assert reject["archive_fk"] == 1


def test_a_decoder_that_does_not_exist_is_told(prices: Path, capfd) -> None:
    code, _, err = run(capfd, "SELECT 1", "--archive-dir", str(prices), "--decoder", "morse")
    assert code != 0
    assert "morse" in err


def test_recordings_without_times_are_told_once_and_not_all_of_them(tmp_path: Path, capfd) -> None:
    for number in range(7):
        builder = RecordingBuilder(stream_id=10)
        end = builder.add(b"a word")
        recording_id = builder.write(tmp_path)
        if number > 1:
            path = Path(write_time_index(tmp_path, recording_id, [(1, 0), (2, end)]))
            path.write_bytes(b"\xff" * len(path.read_bytes()))
    sync = ["catalog", "sync", "--archive-dir", str(tmp_path)]
    assert main(sync) == 0
    capfd.readouterr()
    query = "SELECT count(record_time) FROM frames UNION SELECT count(record_time) FROM frames"
    code, _, err = run(capfd, query, "--archive-dir", str(tmp_path))
    lines = err.splitlines()
    assert code == 0
    assert [re.sub("(has|have) .*", "", line) for line in lines] == [
        f"warning: recordings of {tmp_path} ",
        *(f"warning: recording {number} of {tmp_path} " for number in (2, 3)),
        "warning: 3 more of this kind",
    ]
    assert f"`aerolog recordings times ID --archive-dir {tmp_path} --rebuild`" in lines[0]
    assert f"`aerolog recordings times 3 --archive-dir {tmp_path} --rebuild`" in lines[2]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_rows_are_exact_also_where_they_look_like_secrets(
    archive: Path, capfd, form: list[str]
) -> None:
    query = "SELECT 'key=1, s3://me:you@bucket/x' AS text FROM frames LIMIT 1"
    code, out, _ = run(capfd, query, "--archive-dir", str(archive), *form)
    assert code == 0
    assert "key=1, s3://me:you@bucket/x" in out
