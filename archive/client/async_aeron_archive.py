"""The asyncio archive client: the operations of `AeronArchive`, awaited.

Nothing here blocks the event loop but the making of a transport client, where none is given.
Several requests may be under way at once; listings go one by one, as the archive wants them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from aerolog.archive.client.caller import AwaitedForm
from aerolog.archive.client.operations import ArchiveOperations
from aerolog.transport.resource import AsyncResource

if TYPE_CHECKING:
    from aerolog.transport.client import Aeron


class AsyncAeronArchive(ArchiveOperations, AwaitedForm, AsyncResource):
    """A session with an archive, for one event loop; see `AeronArchive` for the operations.

    Example:
        async with await AsyncAeronArchive.connect(aeron) as archive:
            async for recording in archive.recordings(): ...
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        """Use `connect`, which makes the session."""
        super().__init__(aeron, aeron_dir, options)

    @classmethod
    async def connect(
        cls, aeron: Aeron | None = None, *, aeron_dir: str | None = None, **options: Any
    ) -> Self:
        """Connect; arguments as `AeronArchive`, without ``idle``."""
        archive = cls(aeron, aeron_dir, options)
        try:
            archive._session = await archive._carry_out(archive._connecting())
        except BaseException:
            archive._release()
            raise
        return archive

    async def close(self) -> None:
        """End the session, and the client when it is an own one; recordings go on."""
        self._release()
