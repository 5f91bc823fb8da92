# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Files that are read to their end, and output files, complete or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import stat
import tempfile

from transmission_bridge.tools.cli import clean_end, UsageError

__all__ = ['check_output', 'check_regular', 'safe_output', 'write_output']


def check_regular(path: str | os.PathLike[str]) -> None:
    """
    Check that a path is a regular file: reading a pipe or a device may never end.

    :raises OSError: If it is something else, or cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"'{path}' is not a regular file")
    with open(path, 'rb'):
        pass


def check_output(path: str, *, force: bool, marker: str = '') -> None:
    """
    Check that a file or folder may be written.

    :param force: Whether an existing one may be replaced.
    :param marker: File that an existing folder must contain to be replaced.
    :raises UsageError: If it may not.
    """
    target = Path(path)
    if not target.name or '\0' in path:
        raise UsageError(f"cannot write '{path}': it is not a file name")
    if not target.parent.is_dir():
        raise UsageError(f"cannot write '{path}': there is no folder '{target.parent}'")
    if not os.path.lexists(target):
        return
    if not force:
        raise UsageError(f"'{path}' is there already; --force replaces it")
    if target.is_dir() and not (marker and (target / marker).is_file()):
        raise UsageError(f"'{path}' is a folder, which is not replaced")


@contextmanager
def safe_output(path: str, *, force: bool, marker: str = '') -> Iterator[str]:
    """
    Give a temporary path to write, and move it to the target at the end.

    It is in a temporary folder beside the target, which is removed: a block that ends early leaves
    nothing behind. If the target is a link, its destination is replaced.

    :param path: The target.
    :param force: Whether it may replace an existing one.
    :param marker: As in :func:`check_output`.
    :raises UsageError: If it cannot be written, or may not.
    """
    check_output(path, force=force, marker=marker)
    target = Path(os.path.realpath(path))
    with _written(path):
        parent = tempfile.mkdtemp('.partial', f'.{target.name[:100]}.', target.parent)
    try:
        made = Path(parent) / target.name
        yield str(made)
        check_output(path, force=force, marker=marker)
        with _written(path):
            _move(made, target, force=force, aside=Path(parent) / 'replaced')
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@contextmanager
def _written(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def write_output(path: str, data: bytes, *, force: bool) -> None:
    """
    Write a file, with the permissions of the one that it replaces.

    :param force: Whether it may replace one.
    :raises UsageError: If it cannot be written, or may not.
    """
    with clean_end(), safe_output(path, force=force) as made, _written(path):
        Path(made).write_bytes(data)
        if os.path.exists(path):
            shutil.copymode(path, made)


def _move(made: Path, target: Path, *, force: bool, aside: Path) -> None:
    """Move a file or folder to the target, without losing an existing one at any moment."""
    if (target.is_dir() or made.is_dir()) and os.path.lexists(target):
        os.rename(target, aside)
        try:
            os.rename(made, target)
        except OSError:
            os.rename(aside, target)
            raise
    elif force or made.is_dir():
        os.replace(made, target)
    else:
        try:
            os.link(made, target)  # fails if another program was faster
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            os.replace(made, target)
