"""The schema of the archive's control protocol, and the decorator of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, dataclass_transform

from aerolog.transport.protocol.sbe import Message, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA_ID: Final = 101
SCHEMA_VERSION: Final = 13
SCHEMA: Final = Schema(SCHEMA_ID, SCHEMA_VERSION)

M = TypeVar("M", bound=Message)


@dataclass_transform(kw_only_default=True)
def message(template_id: int, *, added_in: int = 0) -> Callable[[type[M]], type[M]]:
    """Class decorator: makes a message class of the annotations, with its template id."""
    return SCHEMA.add_message(template_id, added_in)
