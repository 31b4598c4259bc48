"""``aerolog passwords``: make and edit the file of an archive's users."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import HouseGroup, command
from aerolog.tools.command_line.options import JsonOption

if TYPE_CHECKING:
    from aerolog.transport.security.passwords import HashedPassword

app = typer.Typer(
    cls=HouseGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Make and edit the file of users and hashed passwords of the authenticator password-file. "
    "A running archive notices the change.",
)

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The password file.", show_default=False)
]
UserArgument = Annotated[
    str, typer.Argument(metavar="USER", help="Name of the user.", show_default=False)
]
StdinOption = Annotated[
    bool, typer.Option("--stdin", help="Read the password from the first line of standard input.")
]


def _password(user: str, stdin: bool, *, twice: bool) -> str:
    from aerolog.tools.connection.credentials import PASSWORD_LINE_MAX, ask_password
    from aerolog.tools.terminal.standard_input import stdin_line

    if stdin:
        return stdin_line(PASSWORD_LINE_MAX)
    return ask_password(f"Password of {user}", twice=twice)


@command(
    app,
    "set",
    examples=("passwords set users.txt ann", "passwords set users.txt ann --stdin < secret"),
)
def set_user(file: FileArgument, user: UserArgument, *, stdin: StdinOption = False) -> None:
    """Give a user a password: a new one, or one who is in the file already.

    The file is made if it is not there, readable to its owner only, and is replaced whole.
    """
    from aerolog.tools.terminal.console import say
    from aerolog.transport.security.passwords import set_password

    was_there = set_password(file, user, _password(user, stdin, twice=True))
    say(f"{user}: password {'changed' if was_there else 'set'}")


@command(app, "remove", examples=("passwords remove users.txt ann",))
def remove_user(file: FileArgument, user: UserArgument) -> None:
    """Take a user out of the file; fails when the user is not in it."""
    from aerolog.tools.terminal.console import say
    from aerolog.transport.errors import AerologError
    from aerolog.transport.security.passwords import set_password

    _users(file)
    if not set_password(file, user, None):
        raise AerologError(f"{file} has no user {user}")
    say(f"{user}: removed")


@command(app, "list", examples=("passwords list users.txt",))
def list_users(file: FileArgument, *, as_json: JsonOption = False) -> None:
    """Print the names of the users."""
    from aerolog.tools.terminal.console import print_json, say

    names = sorted(name.decode() for name in _users(file))
    if as_json:
        print_json(names)
        return
    for name in names:
        say(name)


@command(app, "check", examples=("passwords check users.txt ann",))
def check_user(file: FileArgument, user: UserArgument, *, stdin: StdinOption = False) -> None:
    """Ask for a user's password and end with 1 when it is another one."""
    from aerolog.tools.terminal.console import say
    from aerolog.transport.errors import AerologError

    users = _users(file)
    password = _password(user, stdin, twice=False)
    hashed = users.get(user.encode())
    if hashed is None or not hashed.matches(password.encode()):
        raise AerologError(f"{file} has no user {user} with this password")
    say(f"{user}: the password is right")


@command(app, "key", examples=("passwords key ann >> keys.txt",))
def new_key(user: UserArgument) -> None:
    """Print a line with a new key for the authenticator hmac.

    The same line goes into the archive's file of keys and into the --key-file of the user.
    """
    from aerolog.tools.terminal.console import say
    from aerolog.transport import credentials
    from aerolog.transport.security.hmac_challenge import new_key as key

    say(f"{credentials.check_user(user)}:{key()}")


def _users(file: Path) -> "dict[bytes, HashedPassword]":
    """The users of a file.

    Raises:
        ConfigurationError: a line that is none; the error names file and line.
        OSError: the file cannot be read.
    """
    from aerolog.transport.security.passwords import parse_passwords
    from aerolog.transport.security.watched_file import parsed_file

    return parsed_file(file, parse_passwords)
