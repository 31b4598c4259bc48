"""Hypothesis strategies for SBE messages of any schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from aerolog.transport.protocol.sbe import Layout, Message, Schema

INTEGERS = {
    "b": st.integers(-128, 127),
    "B": st.integers(0, 255),
    "i": st.integers(-(2**31), 2**31 - 1),
    "q": st.integers(-(2**63), 2**63 - 1),
}
ASCII = st.text(st.characters(max_codepoint=127), max_size=40)


def values_of(layout: Layout) -> st.SearchStrategy[dict[str, Any]]:
    """Any field values that a message or an entry of a group can carry."""
    strategies: dict[str, st.SearchStrategy[Any]] = {}
    for field in layout.fixed:
        strategies[field.name] = (
            INTEGERS[field.kind.code] if field.enum is None else st.sampled_from(list(field.enum))
        )
    for group in layout.groups:
        entries = values_of(group.entry.LAYOUT).map(lambda v, made=group.entry: made(**v))
        strategies[group.name] = st.lists(entries, max_size=3).map(tuple)
    for var in layout.var:
        strategies[var.name] = ASCII if var.is_text else st.binary(max_size=40)
    return st.fixed_dictionaries(strategies)


def messages_in(schema: Schema) -> st.SearchStrategy[Message]:
    """Any message of a schema."""
    # Each message's strategy is made once: made anew for each example it costs more than the test.
    return st.one_of(
        values_of(made.LAYOUT).map(lambda values, made=made: made(**values))
        for _, made in sorted(schema.messages.items())
    )
