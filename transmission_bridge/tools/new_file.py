# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: never over another by accident, never half of one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import tempfile

from transmission_bridge.tools.command import UsageError

__all__ = ['check_new_file', 'write_new_file']


def check_new_file(name: str, *, force: bool) -> None:
    """
    Refuse a file that is there already, before any work is done for it.

    :param force: Whether a file that is there may be replaced.
    :raises UsageError: If it may not, or its folder is not there.
    """
    try:
        if '\0' in name:
            raise ValueError('its name holds a null character')
        if os.path.isdir(name):
            raise UsageError(f"cannot write '{name}': it is a folder")
        if os.path.lexists(name) and not force:
            raise UsageError(f"'{name}' is there already; --force replaces it")
        if not Path(name).absolute().parent.is_dir():
            raise UsageError(f"cannot write '{name}': its folder is not there")
    except (OSError, ValueError) as error:
        raise _refused(name, error) from None


def write_new_file(name: str, data: bytes, *, force: bool) -> None:
    """
    Write a file, whole or not at all.

    :param force: Whether a file that is there is replaced.
    :raises UsageError: If it cannot be written, or is there and may not be replaced.
    """
    check_new_file(name, force=force)
    try:
        target = os.path.realpath(name)
        handle, draft = tempfile.mkstemp(prefix='.', suffix='.part', dir=os.path.dirname(target))
        try:
            with os.fdopen(handle, 'wb') as file:
                file.write(data)
            # A private draft becomes a file as any other program would have made it.
            os.chmod(draft, 0o666 & ~_umask())
            check_new_file(name, force=force)
            os.replace(draft, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
    except (OSError, ValueError) as error:
        raise _refused(name, error) from None


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _refused(name: str, error: OSError | ValueError) -> UsageError:
    return UsageError(f"cannot write '{name}': {getattr(error, 'strerror', None) or error}")
