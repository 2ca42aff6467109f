# SPDX-License-Identifier: MIT
"""A second reader of raw logs, for tests only: it shares no code with the importer, so that both cannot have the same bug.

It reads what docs/log-format.md calls a raw file: events in EVENTS and FALLBACK segments, as (kind, address, size).
"""

import struct
from pathlib import Path

HEADER_BYTES, SEGMENT_BYTES, SEGMENT_HEADER_BYTES = 4096, 65536, 128
SEGMENT = struct.Struct("<IIQIIIIQQIIQ")  # the front of struct log_segment
EVENTS, FALLBACK = 1, 2
WORDS = (1, 2, 3, 4, 5, 6, 8, 0)
SIDE_VALID = 0x4D534944
FREE, ALLOC, REALLOC, ALLOC_WIDE, REALLOC_WIDE = 0x20, 0x40, 0x60, 0x80, 0xA0
SIZE_BITS, ADDRESS_BITS = (1 << 40) - 1, (1 << 48) - 1


class Damaged(Exception):
    """The file breaks a rule of the format."""


def _event(words):
    kind = words[0] & 0xFF
    address = words[1] & ADDRESS_BITS if len(words) > 1 else 0
    size = None
    if kind in (ALLOC, REALLOC):
        size = words[2] & SIZE_BITS
    elif kind == ALLOC_WIDE:
        size = words[3]
    elif kind == REALLOC_WIDE:
        size = words[4]
    return kind, address, size


def _events_of(payload):
    words = struct.unpack(f"<{len(payload) // 8}Q", payload)
    at = 0
    while at < len(words):
        kind = words[at] & 0xFF
        n_words = WORDS[kind >> 5] or (words[at + 2] & 0xFFFF)
        if n_words == 0 or at + n_words > len(words):
            raise Damaged(f"event of {n_words} words at word {at} of {len(words)}")
        yield _event(words[at:at + n_words])
        at += n_words


def _side_events(payload):
    for at in range(0, len(payload) - 63, 64):
        if struct.unpack_from("<I", payload, at + 60)[0] == SIDE_VALID:
            yield _event(struct.unpack_from("<6Q", payload, at))


def live_log_elsewhere(path):
    """The place of the live log of a log if it cannot be beside it."""
    with open(path, "rb") as log:
        return Path(f"/dev/shm/mtrace-{struct.unpack_from('<Q', log.read(40), 32)[0]:016x}.live")


def dropped(path):
    """Events the collector counted as dropped; struct log_header says where."""
    return sum(struct.unpack_from("<8Q", Path(path).read_bytes()[:HEADER_BYTES], 176))


def events(path):
    data = Path(path).read_bytes()
    if data[:8] != b"mtrace\r\n":
        raise Damaged("no magic")
    run_id = struct.unpack_from("<Q", data, 32)[0]
    for begin in range(HEADER_BYTES, len(data) - SEGMENT_BYTES + 1, SEGMENT_BYTES):
        _, kind, sequence, committed, reserved, _, _, _, _, _, _, segment_run = SEGMENT.unpack_from(data, begin)
        payload = data[begin + SEGMENT_HEADER_BYTES:begin + SEGMENT_BYTES]
        if sequence == 0 or segment_run != run_id:
            continue
        if kind == EVENTS:
            yield from _events_of(payload[:committed])
        elif kind == FALLBACK:
            yield from _side_events(payload[:reserved])
