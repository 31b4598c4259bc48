"""Decoders by name and strings, ours and those of entry points."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from payload_decoders import OPTIONS, decoder

from aerolog.catalog.decoders import (
    Decoded,
    Decoder,
    DecoderError,
    decoder_names,
    make_decoder,
    registry,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class LengthDecoder(Decoder):
    """A user's decoder: the length of each message, and no empty ones."""

    name = "length"

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("length", pa.int64())])

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        column = pa.array([len(payload.as_py()) for payload in payloads], pa.int64())
        batch = pa.RecordBatch.from_arrays([column], schema=self.schema)
        return Decoded(batch, pa.array(range(len(payloads)), pa.int64()))


def not_a_decoder(options: Mapping[str, str]) -> str:
    return f"no decoder with {options}"


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points as installed packages would bring them."""
    group = "aerolog.decoders"
    found = EntryPoints(
        [
            EntryPoint("length", f"{__name__}:LengthDecoder", group),
            EntryPoint("odd", f"{__name__}:not_a_decoder", group),
            EntryPoint("other", f"{__name__}:LengthDecoder", group),
            EntryPoint("raw", f"{__name__}:LengthDecoder", group),
        ]
    )
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    monkeypatch.setattr(registry, "entry_points", found.select)


def _this_module() -> object:
    import types

    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    return module


def test_every_format_has_a_name() -> None:
    names = decoder_names()
    assert names[:8] == ["raw", "text", "json", "arrow", "msgpack", "protobuf", "avro", "sbe"]
    assert set(OPTIONS) == set(names[:8])


@pytest.mark.parametrize("name", OPTIONS)
def test_a_decoder_travels_as_its_strings(name: str) -> None:
    made = decoder(name)
    assert all(isinstance(value, str) for value in made.options.values())
    for travelled in (make_decoder(name, made.options), pickle.loads(pickle.dumps(made))):
        assert travelled == made
        assert hash(travelled) == hash(made)
        assert travelled.schema == made.schema
    assert repr(made).startswith(f"make_decoder('{name}', ")


@pytest.mark.parametrize("name", OPTIONS)
def test_an_unknown_option_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(DecoderError, match=f"decoder {name} has no option 'colour'; there are: "):
        decoder(name, colour="red")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DecoderError, match="no such decoder: 'yaml'; there are raw, text, json"):
        make_decoder("yaml", {})


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("json", {"sample": "0"}, "a number from 1 to 1000000, not '0'"),
        ("json", {"sample": "many"}, "not 'many'"),
        ("json", {"extra": "maybe"}, "one of reject, ignore, not 'maybe'"),
        ("json", {"schema": "a int64", "schema_file": "x"}, "takes one of schema_file and schema"),
        ("json", {"schema_file": "/nothing/there"}, "cannot read /nothing/there"),
        ("json", {"schema": "a"}, "a type expected"),
        ("protobuf", {"descriptor_set": "?"}, "is not base64"),
        ("raw", {"column": 5}, "is to be a string: 5"),
    ],
)
def test_wrong_options_say_which_and_why(name: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(DecoderError, match=said):
        make_decoder(name, options)


@pytest.mark.usefixtures("entries")
def test_a_user_decoder_comes_by_its_entry_point() -> None:
    made = make_decoder("length", {"any": "option"})
    assert made.options == {"any": "option"}
    assert made.decode(pa.array([b"abc"])).columns.to_pylist() == [{"length": 3}]
    assert make_decoder("raw", {}).schema.names == ["payload"]
    assert decoder_names()[8:] == ["length", "odd", "other"]
    with pytest.raises(DecoderError, match="gave no Decoder: 'no decoder with"):
        make_decoder("odd", {})
    with pytest.raises(DecoderError, match="entry point other says that its name is 'length'"):
        make_decoder("other", {})


def test_a_decoder_loads_its_own_package_only() -> None:
    program = (
        "import sys\n"
        "from aerolog.catalog.decoders import make_decoder\n"
        "make_decoder('json', {'schema': 'a int64'})\n"
        "others = 'msgpack', 'fastavro', 'google.protobuf'\n"
        "print([name for name in others if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "[]\n"
