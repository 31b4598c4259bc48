"""Makes the authenticator and the authorisation service that the archive's properties name.

Other packages add theirs by entry points in the groups ``aerolog.authenticators`` and
``aerolog.authorisation_services``. The entry point's name is the property's value, and its object
is called with the archive's ``ArchiveConfig``. Built-in names cannot be replaced::

    [project.entry-points."aerolog.authenticators"]
    ldap = "my_package:LdapAuthenticator"
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from aerolog.archive.service import properties as p
from aerolog.archive.service.security.authentication import AcceptAll, FixedAuthorisation
from aerolog.archive.service.security.hmac_challenge import HmacAuthenticator
from aerolog.archive.service.security.password_file import PasswordFileAuthenticator
from aerolog.archive.service.security.rules import RulesAuthorisation
from aerolog.archive.service.security.sample import SampleAuthenticator
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.archive.service.security.authentication import Authenticator, AuthorisationService
    from aerolog.transport.config.definition import Property


class _Config(Protocol):
    def __getitem__(self, prop: Any) -> Any: ...


ConfigT = TypeVar("ConfigT", bound=_Config)
AUTHENTICATOR_METHODS: Final = (
    "on_connect_request",
    "on_connected_session",
    "on_challenge_response",
    "on_challenged_session",
)


def _file(config: ArchiveConfig, prop: Property[str | None], needed_by: str) -> str:
    path: str | None = config[prop]
    if not path:
        raise ConfigurationError(f"{needed_by} needs {prop.name}: the path of its file")
    return path


AUTHENTICATORS: Final[Mapping[str, Callable[[ArchiveConfig], Authenticator]]] = {
    "default": lambda _config: AcceptAll(),
    "sample": lambda _config: SampleAuthenticator(),
    "password-file": lambda config: PasswordFileAuthenticator(
        _file(config, p.PASSWORD_FILE, "the authenticator password-file")
    ),
    "hmac": lambda config: HmacAuthenticator(
        _file(config, p.HMAC_KEY_FILE, "the authenticator hmac")
    ),
}
AUTHORISATION_SERVICES: Final[Mapping[str, Callable[[ArchiveConfig], AuthorisationService]]] = {
    "ALLOW_ALL": lambda _config: FixedAuthorisation(allowed=True),
    "DENY_ALL": lambda _config: FixedAuthorisation(allowed=False),
    "rules-file": lambda config: RulesAuthorisation(
        _file(config, p.RULES_FILE, "the authorisation service rules-file")
    ),
}


def authenticator_of(config: ArchiveConfig) -> Authenticator:
    """Return the authenticator that the properties name.

    Raises:
        ConfigurationError: the authenticator cannot be made.
    """
    found: Authenticator = make_from(p.AUTHENTICATOR, AUTHENTICATORS, config, AUTHENTICATOR_METHODS)
    return found


def authorisation_of(config: ArchiveConfig) -> AuthorisationService:
    """Return the authorisation service that the properties name.

    Raises:
        ConfigurationError: the authorisation service cannot be made.
    """
    found: AuthorisationService = make_from(
        p.AUTHORISATION, AUTHORISATION_SERVICES, config, ("is_authorised",)
    )
    return found


def make_from(
    prop: Property[str],
    built_in: Mapping[str, Callable[[ConfigT], Any]],
    config: ConfigT,
    methods: tuple[str, ...],
) -> Any:
    """Return what a property names: one of the built-in objects, or that of an entry point.

    Args:
        prop: the property, whose plug-ins are the entry points' group.
        built_in: what makes the built-in objects, by name.
        config: what the object is made with, and where the property's value is.
        methods: what the object must have.

    Raises:
        ConfigurationError: there is no such object, or it cannot be made.
    """
    name = config[prop]
    if name in built_in:
        return built_in[name](config)
    assert prop.plug_ins is not None
    for found in entry_points(group=prop.plug_ins, name=name):
        try:
            made = found.load()(config)
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"{prop.name}: {name!r} ({found.value}) failed: {error}"
            ) from error
        missing = [each for each in methods if not callable(getattr(made, each, None))]
        if missing:
            raise ConfigurationError(
                f"{prop.name}: {name!r} ({found.value}) made a {type(made).__name__} without"
                f" {', '.join(missing)}"
            )
        return made
    raise ConfigurationError(f"{prop.name}: nothing is installed under the name {name!r}")
