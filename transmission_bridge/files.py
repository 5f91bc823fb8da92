# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A file that is replaced as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
import shutil
import tempfile

__all__ = ['replacing']

#: Permissions of a new file, before the process's mask.
_MODE = 0o644


@contextmanager
def replacing(path: str, data: bytes) -> Iterator[None]:
    """
    Write a file beside the target, and move it there if the block ends well.

    The new file is complete on the disk before the block begins, and takes the old one's place in
    one step after it: whenever the power is cut, the target is the old file or the new one. If it
    is a link, what the link leads to is replaced.

    :param path: The target.
    :param data: What it contains afterwards.
    :raises OSError: If it cannot be written; the target is as before.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    handle, made = tempfile.mkstemp(prefix=f'.{name[:100]}.', suffix='.partial', dir=folder)
    try:
        with open(handle, 'wb') as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, made)
        else:
            os.chmod(made, _MODE)
        yield
        os.replace(made, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(made)
        raise
    # The new name is on the disk once the folder is.
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
