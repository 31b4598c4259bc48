"""What the options of an archive's client and of a cluster's client have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from aerolog.transport.client.options import LOG
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.settings import Settings
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.sources import Properties
    from aerolog.transport.credentials import CredentialsSupplier

MAX_NAME_LENGTH: Final = 100


def read_options(
    table: Sequence[Property[Any]],
    properties: Properties | None,
    options: dict[str, Any],
    known: Iterable[str],
    owner: str,
    report: Callable[[str], object] = LOG.warning,
) -> dict[str, Any]:
    """Values of options by name: keywords come before properties, and properties before defaults.

    Args:
        table: the properties, whose keywords are names of options.
        properties: values by the reference's property names; the environment when None.
        options: the options that were given; None for one with a property counts as not given.
        known: the names of all options.
        owner: what takes the options, for the error about an unknown one.
        report: called with each doubtful value and each unknown property, a line each.

    Raises:
        ConfigurationError: unknown options, or values that cannot be used.
    """
    named = {prop.keyword for prop in table}
    settings = Settings(
        table, properties, {key: value for key, value in options.items() if key in named}
    )
    settings.report(report)
    others = {key: value for key, value in options.items() if key not in named}
    unknown = others.keys() - set(known)
    if unknown:
        raise ConfigurationError(f"unknown option {min(unknown)!r} for {owner}")
    return {prop.keyword: value for prop, value in settings if prop is not STRICT} | others


class SessionOptions:
    """Options of a client that has a session: its name, its patience and its proof of identity."""

    __slots__ = ()

    #: What asks for the proof, for errors.
    _ASKER: ClassVar[str]
    message_timeout: float
    name: str
    credentials: bytes | CredentialsSupplier
    on_challenge: Callable[[bytes], bytes] | None

    def _check_session(self) -> None:
        """Check name and message timeout.

        Raises:
            ConfigurationError: values that cannot be used.
        """
        if len(self.name) > MAX_NAME_LENGTH:
            raise ConfigurationError(
                f"a client name has at most {MAX_NAME_LENGTH} characters, this one {len(self.name)}"
            )
        if not self.message_timeout > 0:
            raise ConfigurationError(
                f"message_timeout is a positive number of seconds, not {self.message_timeout!r}"
            )

    def encoded_credentials(self) -> bytes:
        """The credentials for a connect request, empty without any."""
        if isinstance(self.credentials, bytes):
            return self.credentials
        return self.credentials.encoded_credentials()

    def answer_challenge(self, challenge: bytes) -> bytes:
        """The answer to an archive or a cluster that asks for proof of identity.

        Raises:
            ConfigurationError: neither ``on_challenge`` nor a supplier of credentials can answer.
        """
        if not isinstance(self.credentials, bytes):
            return self.credentials.on_challenge(challenge)
        if self.on_challenge is None:
            raise ConfigurationError(
                f"{self._ASKER} asks for proof of identity: pass on_challenge, or a supplier of"
                " credentials, to answer it"
            )
        return self.on_challenge(challenge)

    @property
    def message_timeout_ns(self) -> int:
        """The message timeout in nanoseconds."""
        return round(self.message_timeout * NS_PER_S)
