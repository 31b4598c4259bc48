"""Layouts of shared bytes stand once: nothing else types an offset, a length or a flag of them."""

import re

# Names that a number stands for once, by what they end in; the value that would be typed again.
FRAME = {
    "VERSION": 4,
    "FLAGS": 5,
    "TYPE": 6,
    "TERM_OFFSET": 8,
    "SESSION_ID": 12,
    "STREAM_ID": 16,
    "TERM_ID": 20,
    "RESERVED(?:_VALUE)?": 24,
}
FLAGS = {
    "FLAG_BEGIN": 0x80,
    "FLAG_END": 0x40,
    "UNFRAGMENTED": 0xC0,
    "(?:FRAME_)?TYPE_DATA": 1,
    "(?:FRAME_)?TYPE_PAD(?:DING)?": 0,
    "FRAME_ALIGNMENT": 32,
    "FRAME_LENGTH_MAX": 65504,
    "ENTRY_HEADER_LENGTH": 32,
}
LENGTHS = ("HEADER_LENGTH", "FRAME_HEADER_LENGTH", "DATA_HEADER_LENGTH", "DATA_HEADER")
COUNTER = {"KEY": 16, "LABEL_LENGTH": 128, "LABEL": 132, "REGISTRATION": 8, "OWNER": 16}
MESSAGE = {"TEMPLATE_ID": 2, "SCHEMA_ID": 4}
CONSTANT = re.compile(
    r"^\s*_?([A-Z][A-Z0-9_]*)(?::\s*Final(?:\[int\])?)?\s*=\s*(0x[0-9A-Fa-f]+|\d+)\b"
)
STRUCT = re.compile(r"""["']<?i(?:BBH|2BH)i{4}q["']""")
ALIGNED = re.compile(r"\+ 31\) (?:& (?:~|-)|// 32)|% 32\b(?!.*bit)")

#: The one place of each layout, and tables of files of ours whose fields only look alike.
HOMES = {
    "transport/protocol/frames.pxd",
    "archive/protocol/offsets.pxd",
    "archive/format/layout.py",
    "transport/memory/counters.pxd",
}
PRODUCT = ("transport", "archive", "cluster", "catalog", "tools", "python", "benchmarks", "native")


def retyped(name: str, value: int) -> bool:
    """Whether a constant is one of the tables' under another roof."""
    for table in (FRAME, COUNTER, MESSAGE):
        for field, number in table.items():
            if value == number and re.fullmatch(rf"{field}_(?:OFFSET|AT)", name):
                return True
    if any(value == number and re.fullmatch(word, name) for word, number in FLAGS.items()):
        return True
    return name in LENGTHS and value == 32


def test_no_layout_is_typed_again(checkout, tracked):
    found = []
    for path in tracked:
        place = path.relative_to(checkout).as_posix()
        if path.suffix not in {".py", ".pyx", ".pxd"} or place in HOMES:
            continue
        if not place.startswith(PRODUCT):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            constant = CONSTANT.match(line)
            if constant and retyped(constant[1], int(constant[2], 0)):
                found.append(f"{place}:{number}: {line.strip()} stands in a table already")
            if STRUCT.search(line):
                found.append(f"{place}:{number}: the frame header is FRAME_HEADER_STRUCT")
            if ALIGNED.search(line) and not line.lstrip().startswith(("#", '"""')):
                found.append(f"{place}:{number}: frames are aligned by align_frame or align")
    assert not found, "\n".join(found)


def test_what_is_typed_again_is_found():
    assert retyped("SESSION_ID_OFFSET", 12)
    assert retyped("TYPE_AT", 6)
    assert retyped("FRAME_HEADER_LENGTH", 32)
    assert retyped("FLAG_BEGIN", 0x80)
    assert not retyped("SESSION_ID_OFFSET", 72)
    assert not retyped("HEADER_LENGTH", 64)
