"""Servers that the whole chain needs."""

from postgres import postgres_server, postgres_url  # noqa: F401
from s3 import s3_endpoint, s3_url  # noqa: F401
