"""Schemas from strangers: XML that reads files, grows, or says what cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payload_decoders import SBE

from aerolog.catalog.decoders import DecoderError, make_decoder

if TYPE_CHECKING:
    from pathlib import Path


def refused(schema: str) -> str:
    with pytest.raises(DecoderError) as caught:
        make_decoder("sbe", {"schema": schema})
    return str(caught.value)


def with_types(types: str, message: str = "") -> str:
    changed = SBE.replace("</types>", f"{types}</types>")
    return changed.replace(
        '<message name="Flight" id="1">', f'<message name="Flight" id="1">{message}'
    )


def test_external_entities_and_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    external = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    assert "document type declaration" in refused(external + SBE)
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    assert "document type declaration" in refused(laughs + SBE)
    include = with_types(f'<include href="{secret.as_uri()}"/>')
    assert "includes are not followed" in refused(include)


def test_what_is_too_large_is_refused() -> None:
    assert "nested deeper than 32" in refused("<a>" * 100 + "</a>" * 100)
    assert "more than 50000 elements" in refused("<a>" + "<b/>" * 50_001 + "</a>")
    assert "the most is" in refused("<a>" + " " * (4 << 20) + "</a>")
    assert "more than 100000 characters" in refused("<a>" + "x" * 100_001 + "</a>")


def test_a_file_that_is_too_long_or_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "schema.xml"
    file.write_bytes(b" " * (4 << 20) + b"<a/>")
    with pytest.raises(DecoderError, match="has more than"):
        make_decoder("sbe", {"schema_file": str(file)})
    file.write_bytes(b"<a>\xff</a>")
    with pytest.raises(DecoderError, match="is not UTF-8"):
        make_decoder("sbe", {"schema_file": str(file)})
    with pytest.raises(DecoderError, match="cannot read"):
        make_decoder("sbe", {"schema_file": str(tmp_path / "nothing.xml")})


def test_composites_that_multiply_or_hold_themselves_are_refused() -> None:
    types = '<composite name="c0"><type name="x" primitiveType="int8"/></composite>'
    for depth in range(1, 7):
        refs = "".join(f'<ref name="r{at}" type="c{depth - 1}"/>' for at in range(10))
        types += f'<composite name="c{depth}">{refs}</composite>'
    said = refused(with_types(types, '<field name="big" type="c6"/>'))
    assert "more than" in said
    circle = '<composite name="c"><ref name="r" type="c"/></composite>'
    assert "in a circle" in refused(with_types(circle, '<field name="big" type="c"/>'))
    reference = (
        '<enum name="e" encodingType="t"><validValue name="A">1</validValue></enum>'
        '<type name="t" primitiveType="int8" presence="constant" valueRef="e.A"/>'
    )
    assert "in a circle" in refused(with_types(reference, '<field name="big" type="t"/>'))


@pytest.mark.parametrize(
    ("types", "message", "said"),
    [
        ("", '<field name="f" type="nothing"/>', "there is no type 'nothing'"),
        ("", '<field name="f" type="int64" offset="99999"/>', "offset of <field> is a number"),
        ("", '<field name="f" type="int64" offset="4"/><field name="g" type="int8" offset="9"/>',
         "g begins at 9, before the end"),
        ("", '<field name="delay" type="int8"/>', "has a name twice"),
        ("", '<field name="f" type="int8" presence="constant"/>', "has no value"),
        ('<type name="t" primitiveType="int99"/>', '<field name="f" type="t"/>', "no primitive"),
        ('<type name="t" primitiveType="int8" nullValue="300"/>', '<field name="f" type="t"/>',
         "out of the range of int8"),
        ('<type name="t" primitiveType="char" length="0"/>', '<field name="f" type="t"/>',
         "has the length 0"),
        ('<type name="t" primitiveType="char" length="2" characterEncoding="klingon"/>',
         '<field name="f" type="t"/>', "no character encoding 'klingon'"),
        ('<enum name="t" encodingType="float"/>', '<field name="f" type="t"/>', "as a float"),
        ('<set name="t" encodingType="int8"><choice name="a">0</choice></set>',
         '<field name="f" type="t"/>', "encoded as an unsigned number"),
        ('<set name="t" encodingType="uint8"><choice name="a">8</choice></set>',
         '<field name="f" type="t"/>', "its bit is not"),
        ('<composite name="t"/>', '<field name="f" type="t"/>', "without members"),
        ('<type name="t" primitiveType="int8"/><type name="t" primitiveType="int8"/>', "", "twice"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_line(types: str, message: str, said: str) -> None:
    text = refused(with_types(types, message))
    assert said in text


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("", "not XML"),
        ("<a", "not XML"),
        ("<a/>", "<messageSchema> expected"),
        ('<messageSchema id="1"/>', "there is no composite 'messageHeader'"),
        (SBE.replace('byteOrder="bigEndian"', 'byteOrder="middle"'), "byteOrder is"),
        (SBE.replace('name="templateId"', 'name="template"'), "has no number 'templateId'"),
        (SBE[: SBE.index("<message ")] + "</messageSchema>", "without messages"),
        (SBE.replace('type="text"/></group>', 'type="point"/></group>'), "a number 'length'"),
        (SBE.replace('<field name="from" type="uint16"/>', ""), "the group legs has no fields"),
        (SBE.replace('<message name="Flight" id="1">', '<message name="Flight" id="1" '
         'blockLength="3">'), "a block of 3 bytes, and fields of 16"),
    ],
)  # fmt: skip
def test_documents_that_are_no_schema_are_refused(schema: str, said: str) -> None:
    if not schema:
        with pytest.raises(DecoderError, match="needs the option schema_file"):
            make_decoder("sbe", {"schema": schema})
        return
    assert said in refused(schema)


@settings(max_examples=60, deadline=None)
@given(
    at=st.integers(0, len(SBE)),
    length=st.integers(0, 40),
    put=st.text(alphabet='<>/="& abct019-', max_size=12),
)
def test_a_damaged_schema_is_refused_or_compiled(at: int, length: int, put: str) -> None:
    damaged = SBE[:at] + put + SBE[at + length :]
    try:
        made = make_decoder("sbe", {"schema": damaged} if damaged else {"schema": "x"})
    except DecoderError:
        return
    assert made.schema.names
