"""Sources of properties: the environment, ``-Dname=value`` options, and files.

Each of these takes precedence over those before it: defaults, the environment, options and files in
the order of the command line, and keyword arguments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.definition import environment_name
from aerolog.transport.config.properties_file import parse_properties
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.regular_file import open_named
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ENVIRONMENT_PREFIXES: Final = ("AERON_", "AEROLOG_")
_MAX_FILE_LENGTH: Final = 1 << 20
_URL_TIMEOUT_S: Final = 10.0


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class RawValue:
    """The text of a value and its source.

    Attributes:
        source: description for messages: ``-D option``, ``environment AERON_DIR``, a file.
        from_environment: whether the C driver's rules apply, which differ for booleans and numbers.
    """

    text: str
    source: str
    from_environment: bool = False


class Properties:
    """Texts of properties from several sources, of which a later one takes precedence.

    A property is found by its name or by its environment name, whatever the source: the C driver
    turns every option into an environment variable of its own.
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, RawValue]] = {}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Properties:
        """Read the ``AERON_*`` and ``AEROLOG_*`` variables; an empty one counts as not set."""
        properties = cls()
        for variable, text in (os.environ if environ is None else environ).items():
            if variable.startswith(_ENVIRONMENT_PREFIXES) and text:
                raw = RawValue(text, f"environment {variable}", from_environment=True)
                properties._values[variable] = (variable, raw)
        return properties

    @classmethod
    def from_command_line(
        cls, arguments: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> Properties:
        """Read the environment, then ``-Dname=value`` options and files in their order.

        Raises:
            ConfigurationError: if an argument is neither, or if a file cannot be read.
        """
        properties = cls.from_environment(environ)
        for argument in arguments:
            if argument.startswith("-D"):
                properties.define(argument[2:])
            elif argument.startswith("-"):
                raise ConfigurationError(
                    f"unknown option {argument!r}: -Dname=value and properties files are accepted"
                )
            else:
                properties.load(argument)
        return properties

    def define(self, definition: str) -> None:
        """Add a definition ``name=value``, as after ``-D``.

        Raises:
            ConfigurationError: if there is neither ``=`` nor ``:``, or no name.
        """
        pairs = list(parse_properties(definition))
        if len(pairs) != 1 or not pairs[0].name or not pairs[0].has_separator:
            raise ConfigurationError(f"malformed define: {definition}: expected name=value")
        self.set(pairs[0].name, pairs[0].value, f"-D{pairs[0].name}")

    def load(self, source: str | os.PathLike[str]) -> None:
        """Add the properties of a file, given by path or by a file:, http: or https: URL.

        Raises:
            ConfigurationError: if the file cannot be read.
        """
        where = os.fspath(source)
        for pair in parse_properties(_read(where)):
            self.set(pair.name, pair.value, f"{where}:{pair.line}")

    def set(self, name: str, text: str, source: str) -> None:
        """Add one value, which takes precedence over all earlier ones."""
        key = environment_name(name)
        # The key is removed first, so that the order of the mapping is the order of precedence.
        self._values.pop(key, None)
        self._values[key] = (name, RawValue(text, source))

    def get(self, name: str, env: str | None = None) -> RawValue | None:
        """Return the value of a property that takes precedence, or None if none was given."""
        wanted = {environment_name(name), env}
        for key in reversed(self._values):
            if key in wanted:
                return self._values[key][1]
        return None

    def __iter__(self) -> Iterator[tuple[str, RawValue]]:
        return iter(self._values.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __len__(self) -> int:
        return len(self._values)


def _read(where: str) -> str:
    try:
        if where.startswith(("http://", "https://")):
            content = _fetched(where)
        else:
            with open_named(_local_path(where)) as file:
                content = file.read(_MAX_FILE_LENGTH + 1)
    except OSError as error:
        raise ConfigurationError(
            f"loading properties from {where}: {error.strerror or error}"
        ) from error
    except ValueError as error:  # a broken URL, or a path with a NUL
        raise ConfigurationError(f"loading properties from {where!r}: {error}") from error
    if len(content) > _MAX_FILE_LENGTH:
        raise ConfigurationError(f"loading properties from {where}: longer than 1 MiB")
    return content.decode("latin-1")


def _fetched(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=_URL_TIMEOUT_S) as response:  # noqa: S310
            content: bytes = response.read(_MAX_FILE_LENGTH + 1)
    except HTTPException as error:
        raise ValueError(str(error) or type(error).__name__) from error
    return content


def _local_path(where: str) -> str:
    if not where.startswith("file:"):
        return where
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(where).path)
