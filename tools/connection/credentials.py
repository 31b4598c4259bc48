"""Who a command says it is to an archive that asks, from its options; secrets come from files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aerolog.transport.credentials import HmacCredentials, PasswordCredentials

if TYPE_CHECKING:
    from aerolog.tools.command_line.options import ArchiveOptions
    from aerolog.transport.credentials import CredentialsSupplier

PASSWORD_LINE_MAX = 65_536  # bytes; more is another kind of file


def credentials_of(options: ArchiveOptions) -> CredentialsSupplier | bytes:
    """What an archive client is made with.

    Raises:
        typer.BadParameter: options that do not go together, or nobody to ask for a password.
        ConfigurationError: a name or a key that cannot be used.
        OSError: a file that cannot be read.
    """
    if options.key_file is None:
        return password_of(options.user, options.password_file) or b""
    if options.user is None:
        raise typer.BadParameter("--key-file belongs to a --user")
    if options.password_file is not None:
        raise typer.BadParameter("pass either --password-file or --key-file")
    return HmacCredentials(options.user, _key(options.key_file, options.user))


def password_of(
    user: str | None, password_file: str | None, prefix: str = "--"
) -> PasswordCredentials | None:
    """User and password, asked for where there is no file; None without a user.

    Args:
        user: his name.
        password_file: whose first line is the password.
        prefix: what the options' names begin with.

    Raises:
        typer.BadParameter: a file without a user, or nobody to ask for a password.
        ConfigurationError: a name that cannot be used.
        OSError: a file that cannot be read.
    """
    if user is None:
        if password_file is not None:
            raise typer.BadParameter(f"{prefix}password-file belongs to a {prefix}user")
        return None
    if password_file is not None:
        return PasswordCredentials(user, read_password(password_file))
    return PasswordCredentials(user, ask_password(f"Password of {user}"))


def read_password(path: str) -> str:
    """The first line of a file.

    Raises:
        ConfigurationError: the line is no UTF-8 text, or longer than a password may be.
        OSError: it cannot be read.
    """
    from aerolog.transport.errors import ConfigurationError
    from aerolog.transport.memory.regular_file import open_named

    with open_named(path) as file:
        line = file.readline(PASSWORD_LINE_MAX + 1)
    if len(line) > PASSWORD_LINE_MAX:
        raise ConfigurationError(f"{path}: the first line is longer than {PASSWORD_LINE_MAX} bytes")
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: the first line is no UTF-8 text: {error}") from error


def ask_password(prompt: str, *, twice: bool = False) -> str:
    """A password that somebody types unseen.

    Raises:
        typer.BadParameter: there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise typer.BadParameter("standard input is no terminal to ask for a password at")
    answer: str = typer.prompt(prompt, hide_input=True, confirmation_prompt=twice, err=True)
    return answer


def _key(path: str, user: str) -> bytes:
    from aerolog.transport.errors import ConfigurationError
    from aerolog.transport.security.hmac_challenge import parse_keys
    from aerolog.transport.security.watched_file import parsed_file

    keys = parsed_file(Path(path), parse_keys)
    if user.encode() not in keys:
        raise ConfigurationError(f"{path} has no key of {user}")
    return keys[user.encode()]
