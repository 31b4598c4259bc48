"""Each constant of a layout is changed once, and the comparison with the reference's bytes fails.

The bytes were written by the reference: `reference-layouts.json` by its encoders and its driver,
the archive's folder by its archive. A field moves by a byte, or trades places with one of its size;
an identifier or a length is one more. A mutant that no comparison notices is a constant without a
test.
"""

from __future__ import annotations

import json
import struct
from contextlib import contextmanager
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from golden_data import GOLDEN_ARCHIVE, control_messages, layouts_of_the_reference
from layout_values import values_of

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.mark_header import MarkFileHeader as ArchiveMark
from aerolog.cluster import protocol as cp
from aerolog.cluster.protocol.node_state_messages import NODE_STATE_SCHEMA
from aerolog.transport.logbuffer import metadata
from aerolog.transport.memory import cnc_header
from aerolog.transport.protocol.sbe import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.protocol.sbe import Layout, Message
