"""Options of the data source, as texts in any case of letters."""

from __future__ import annotations

import pytest

from aerolog.catalog.spark.options import parse_options
from aerolog.transport.errors import ConfigurationError


def test_an_archive_alone_is_all_of_its_messages_with_payloads() -> None:
    options = parse_options({"archive": "folder"})
    assert options.archive == "folder"
    assert options.scanned == (
        *("recording_id", "position", "term_id", "term_offset", "session_id", "stream_id"),
        *("flags", "reserved_value", "payload", "record_time"),
    )
    assert options.assemble
    assert options.fail_on_data_loss
    assert not options.skip_damage


def test_the_path_of_load_is_an_archive_too() -> None:
    assert parse_options({"path": "folder"}).archive == "folder"


def test_names_come_in_any_case() -> None:
    options = parse_options({"ARCHIVE": "a", "skipdamage": "True", "MAXROWS": "7"})
    assert (options.skip_damage, options.max_rows) == (True, 7)


def test_a_choice_of_recordings() -> None:
    choice = parse_options(
        {
            "archive": "a",
            "recordings": "1, 5-7,6",
            "sessions": "-3,4",
            "stream": "10",
            "channel": "ipc",
            "tags": "carrier=AA, desk=x=y",
            "since": "2026-11-20T10:00:00Z",
            "until": "1700000000001500us",
        }
    ).choice
    assert choice.recording_ids == (1, 5, 6, 7)
    assert choice.session_ids == (-3, 4)
    assert (choice.stream_id, choice.channel) == (10, "ipc")
    assert choice.tags == {"carrier": "AA", "desk": "x=y"}
    assert choice.since_ms == 1_795_168_800_000
    assert choice.until_ms == 1_700_000_000_002


def test_columns_narrow_the_schema_and_keep_its_order() -> None:
    options = parse_options({"archive": "a", "columns": "stream_id, position"})
    assert options.scanned == ("position", "stream_id")


def test_payload_none_leaves_out_the_payload() -> None:
    assert "payload" not in parse_options({"archive": "a", "payload": "none"}).scanned


def test_options_of_the_decoder_are_carried_to_it() -> None:
    options = parse_options(
        {"archive": "a", "payload": "decoded", "decoder": "json", "decoder.schema": "n int64"}
    )
    assert (options.decoder, options.decoder_options) == ("json", {"schema": "n int64"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "option archive is missing"),
        ({"archive": "a", "partitonBytes": "1"}, "there is no option partitonbytes"),
        ({"archive": "a", "columns": "postion"}, "there is no column 'postion'"),
        ({"archive": "a", "payload": "text"}, "must be one of none, binary, decoded"),
        ({"archive": "a", "payload": "decoded"}, "goes with option decoder"),
        ({"archive": "a", "decoder": "json"}, "goes with option decoder"),
        ({"archive": "a", "maxRows": "-1"}, "option maxRows='-1': not a whole number"),
        ({"archive": "a", "maxRows": "0"}, "must be 1 or more"),
        ({"archive": "a", "partitionBytes": "12q"}, "should end with: k, m, or g"),
        ({"archive": "a", "tags": "carrier"}, "must be key=value"),
        ({"archive": "a", "recordings": "1-9999999999"}, "more than 100000 ids"),
        ({"archive": "a", "recordings": "x"}, "option recordings='x'"),
        ({"archive": "a", "since": "yesterday-ish"}, "is not a time"),
        ({"archive": "a", "failOnDataLoss": "maybe"}, "must be true or false"),
        ({"archive": "a", "columns": "payload", "payload": "none"}, "leave no column"),
        ({"archive": "a", "rows": "fragments", "sessions": "1"}, "does not go with"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_options(given)
    assert message in str(caught.value)
