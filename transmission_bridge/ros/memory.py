# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Have Fast DDS and the C library give back the memory of messages that were read.

By default Fast DDS keeps each buffer of a queue at the size of the largest message that it ever
held, and its readers lose a buffer now and then: one with a message that is older than all of a
full queue, as happens among several publishers, is never given back (Fast DDS 2.14 to 3.6,
``DataReaderHistory::received_change_keep_last``). A message of a few bytes thus keeps a megabyte
for good. With a buffer of its own size for each message, both take what the messages take.
"""

from __future__ import annotations

from contextlib import suppress
import ctypes
import importlib.metadata
import os
from pathlib import Path

__all__ = ['free_read_messages']

_PROFILE = Path(__file__).with_name('fast_dds.xml')

#: Of Fast DDS 3 and 2. Kilted warns of the second, Jazzy does not know the first.
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')

#: Without it rmw_fastrtps replaces what the profile says about memory.
_USE_PROFILE = 'RMW_FASTRTPS_USE_QOS_FROM_XML'

#: What Fast DDS reads from the working directory.
_LOCAL_PROFILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')

#: Of glibc's malloc.h, and where its threshold begins [bytes].
_M_MMAP_THRESHOLD, _THRESHOLD = -3, 128 << 10


def free_read_messages() -> None:
    """
    Set up memory for this process, where rclpy is imported and before it is initialised.

    Whoever has configured Fast DDS keeps that configuration, and may add to it what
    ``fast_dds.xml`` says. Other middleware does not look at it.
    """
    # glibc would raise the threshold to the largest block that was freed, up to 32 MiB, and large
    # buffers would then lie between small ones that keep their memory from being given back.
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _THRESHOLD)
    chosen = (*_PROFILES, _USE_PROFILE, 'RMW_FASTRTPS_PUBLICATION_MODE')
    if any(os.environ.get(name) for name in chosen) or any(map(os.path.exists, _LOCAL_PROFILES)):
        return
    # Nothing says which Fast DDS it is; Fast DDS 3 came with Kilted, as rclpy 9 did.
    try:
        is_new = int(importlib.metadata.version('rclpy').partition('.')[0]) >= 9
    except importlib.metadata.PackageNotFoundError:  # a build that says of no package what it is
        return
    os.environ[_PROFILES[0 if is_new else 1]] = str(_PROFILE)
    os.environ[_USE_PROFILE] = '1'
