"""Sends orders, a thousand a second, and records them, until one of them is nonsense."""

import sys
import time
from itertools import count
from math import isnan, nan

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron

CHANNEL, STREAM = "aeron:ipc?term-length=64k", 1001
LAST_GOOD = 2000

with (
    Aeron() as aeron,
    AeronArchive(aeron) as archive,
    archive.add_recorded_publication(CHANNEL, STREAM) as publication,
):
    for number in count(1):
        price = 90 + number % 20 if number <= LAST_GOOD else nan
        publication.send(f"order {number}: buy 100 at {price}".encode())
        if isnan(price):
            sys.exit(f"order {number} has no price")
        time.sleep(0.001)
