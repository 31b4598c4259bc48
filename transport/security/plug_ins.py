"""Makes the authenticators and authorisation services that properties name.

Other packages add theirs by entry points in the groups ``aerolog.authenticators`` and
``aerolog.authorisation_services``. The entry point's name is the property's value, and its object
is called with the configuration of the archive or of the consensus module. Built-in names cannot be
replaced::

    [project.entry-points."aerolog.authenticators"]
    ldap = "my_package:LdapAuthenticator"
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.transport.config.definition import Property

AUTHENTICATOR_PLUG_INS: Final = "aerolog.authenticators"
AUTHORISATION_PLUG_INS: Final = "aerolog.authorisation_services"
AUTHENTICATOR_METHODS: Final = (
    "on_connect_request",
    "on_connected_session",
    "on_challenge_response",
    "on_challenged_session",
)


class _Config(Protocol):
    def __getitem__(self, prop: Any) -> Any: ...


ConfigT = TypeVar("ConfigT", bound=_Config)


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
