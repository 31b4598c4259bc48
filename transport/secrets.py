"""Secrets in texts that are shown or stored: messages, logs, databases, tables.

A message may quote a URL, a setting or another program's message, and each of these may hold a
password. Whatever shows or stores such a text passes it through `without_secrets` first, where it
leaves the program; nothing has to know through which parts the text has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

C = TypeVar("C", bound=type)
E = TypeVar("E", bound=BaseException)
HIDDEN: Final = "***"
#: Names of parameters whose values are secret, or may be. All repetitions have bounds: other
#: programs choose the texts, and their length must not choose how long this takes.
_NAMES: Final = (
    r"\w{0,64}(?:password|passwd|passphrase|secret|token|credential|signature)\w{0,64}"
    r"|(?:\w{0,64}[_.-])?(?:pwd|sas|sig|auth)"
    r"|\w{0,64}(?:access|account|api|private|shared)[_.-]?key\w{0,64}"
)
#: A name as a whole, with the groups that it is in: ``fs.azure.account.key.x``.
_WHOLE: Final = rf"(?:[\w-]{{1,64}}\.){{0,16}}(?:{_NAMES})(?:\.[\w.-]{{1,128}})?"
_NAME: Final = re.compile(_WHOLE, re.IGNORECASE)
#: What a text has in which something may be secret; most texts have none of it.
_SIGN: Final = re.compile(
    r":/|@|pass|secret|token|credential|signature|pwd|sas|sig|key|auth", re.IGNORECASE
)
#: In a URL a parameter is left out on a weaker suspicion: nothing is lost with it that says where.
_SECRET_NAME: Final = re.compile(rf"{_NAMES}|.*(?:secret|password|token|key).*", re.IGNORECASE)
_QUOTED: Final = r"(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_VALUE: Final = rf"(?:b?{_QUOTED}|[^\s'\"]*[^\s'\",;.)}}\]])"
# A setting in a text, as ``password=abc`` or ``fs.azure.account.key.x = abc``. The token of a
# replay is the archive's own number, which the reference's error log has as well, and its event log
# has the lengths of credentials.
_SETTING: Final = re.compile(
    r"(?<![\w.-])(?!replayToken\b|\w{0,64}length\s?=\s?\d{1,10}\b)"
    rf"({_WHOLE}\s?=\s?){_VALUE}",
    re.IGNORECASE,
)
# A setting in JSON, or in what Python shows of a mapping.
_ENTRY: Final = re.compile(
    rf"(?<=['\"])({_WHOLE}['\"]\s?:\s?)"
    rf"b?{_QUOTED}",
    re.IGNORECASE,
)
# A header of HTTP, which has a word for its kind before the secret.
_HEADER: Final = re.compile(
    r"(\bauthorization['\"]?\s?[:=]\s?['\"]?)(?:basic|bearer|digest|aws4-hmac-sha256)\s[^\n'\"]+",
    re.IGNORECASE,
)
# A user and a password end with an at sign, and may have blanks and quotes in them; what stands
# after a colon is a port, or else the beginning of a password.
_URL: Final = re.compile(
    r"\b[A-Za-z][A-Za-z0-9+.-]{0,31}:/+"
    r"(?:[^\s'\"<>/?#@:\[]*:(?!\d{0,5}(?:[/?#\s'\"<>),;.]|$))[^@\n]{0,1024}@)?[^\s'\"<>]*"
)
# A user and a password without a scheme, as other packages quote a part of a URL.
_USER: Final = re.compile(r"(?<![^\s'\"(=,;<])[\w.%+-]{1,64}:(?!/|\d{0,5}@)[^\s'\"@]{1,256}@")
_PORT: Final = re.compile(r"\d{0,5}")


def without_secrets(text: str) -> str:
    """Return a text without the secrets that stand in it.

    Of each URL the user and the password are left out, also those with slashes and at signs in
    them, and values in its query that may be secrets. Where it is not certain what ends a password,
    more is left out.

    Args:
        text: a URL, or any text with URLs or settings in it.
    """
    if not _SIGN.search(text):
        return text
    text = _URL.sub(lambda found: _url(found[0]), text)
    text = _USER.sub("", text)
    text = _HEADER.sub(rf"\g<1>{HIDDEN}", text)
    return _ENTRY.sub(rf"\g<1>'{HIDDEN}'", _SETTING.sub(rf"\g<1>{HIDDEN}", text))


def without_secrets_in(value: Any) -> Any:
    """Return a value of lists, mappings and texts, such as a JSON document, without secrets."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {_shown(key): _entry(key, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets_in(one) for one in value]
    return value


def _shown(key: Any) -> Any:
    return without_secrets(key) if isinstance(key, str) else key


def _entry(key: Any, value: Any) -> Any:
    is_secret = isinstance(key, str) and isinstance(value, str) and _NAME.fullmatch(key)
    return HIDDEN if is_secret else without_secrets_in(value)


def hidden_in(error: E, hide: Callable[[str], str] = without_secrets) -> E:
    """Hide secrets in the texts of an error of any package, and of what caused it.

    Programs show causes by themselves, so that it is not enough to hide what our own errors say.

    Args:
        error: that is raised, or becomes the cause of one that is.
        hide: makes a text fit to be shown.

    Returns:
        The same error.
    """
    link: BaseException | None = error
    seen: list[BaseException] = []
    while link is not None and link not in seen:
        seen.append(link)
        link.args = tuple(hide(one) if isinstance(one, str) else one for one in link.args)
        if isinstance(link, OSError) and isinstance(link.filename, str):
            link.filename = hide(link.filename)
        link = link.__cause__ or link.__context__
    return error


def repr_without_secrets(cls: C) -> C:
    """Hide secrets in the ``repr`` of a class, for what holds places, URLs or settings."""
    shown: Any = cls.__repr__

    def hidden(self: object) -> str:
        return without_secrets(str(shown(self)))

    cls.__repr__ = hidden  # type: ignore[assignment]
    return cls


def _url(url: str) -> str:
    # A path library makes one slash of two.
    scheme, slashes, rest = re.split(r"(:/+)", url, maxsplit=1)
    first = re.split(r"[/?#]", rest, maxsplit=1)[0]
    _, colon, after = first.partition(":")
    has_password = bool(colon) and not first.startswith("[") and not _PORT.fullmatch(after)
    if "@" in first or (has_password and "@" in rest):
        rest = rest[_end_of_user(rest, first, has_password=has_password) :]
    address, mark, query = rest.partition("?")
    query, hash_mark, fragment = query.partition("#")
    pairs = [pair for pair in query.split("&") if not _is_secret(pair)]
    kept = mark + "&".join(pairs) if mark and pairs and query else ""
    return f"{scheme}{slashes}{address}{kept}{hash_mark}{fragment}"


def _end_of_user(rest: str, first: str, *, has_password: bool) -> int:
    """Where a URL's user and password end, counted from the end of its scheme."""
    if not has_password and "@" in first:
        return first.rindex("@") + 1
    until = rest.find("?", len(first)) if "@" in rest.partition("?")[0] else -1
    return rest.rindex("@", 0, len(rest) if until < 0 else until) + 1


def _is_secret(pair: str) -> bool:
    plain = unquote(pair)
    name, _, value = plain.partition("=")
    return bool(_SECRET_NAME.fullmatch(name) or "@" in plain or _SETTING.search(value))
