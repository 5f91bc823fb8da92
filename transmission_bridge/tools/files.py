# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Checks of input files, YAML, and atomic output files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import stat
import tempfile
from typing import Any

from transmission_bridge.tools.cli import optional, UsageError


def check_regular(path: str | os.PathLike[str]) -> None:
    """
    Check that a path is a regular file: reading a pipe or a device may never end.

    :raises OSError: If it is something else, or cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"'{path}' is not a regular file")
    with open(path, 'rb'):
        pass


#: What PyYAML also raises.
_DAMAGED = ValueError, LookupError, AttributeError, TypeError, RecursionError


def parse_yaml(data: bytes, name: str, *, as_text: bool = False, most_aliases: int = 0) -> Any:
    """
    Return the content of a YAML file.

    :param name: Name of the file, for errors.
    :param as_text: Whether scalars stay texts.
    :param most_aliases: Largest number of aliases, because many could expand without limit.
    :raises UsageError: If it is not YAML, or has more aliases.
    """
    yaml = optional('yaml', 'cli')
    try:
        text = data.decode('utf-8-sig')
        count = sum(isinstance(token, yaml.AliasToken) for token in yaml.scan(text))
        if count > most_aliases:
            raise ValueError(f'{count} aliases, at most {most_aliases} are read')
        return yaml.load(text, yaml.BaseLoader if as_text else yaml.SafeLoader)
    except (yaml.YAMLError, *_DAMAGED) as error:
        reason = ' '.join(str(error).split())[:200]
        raise UsageError(f"'{name}': expected YAML, found: {reason}") from None


def check_output(path: str, *, force: bool, marker: str = '') -> None:
    """
    Check that a file or folder may be written.

    :param force: Whether to replace an existing one.
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
        raise UsageError(f"'{path}' already exists; --force replaces it")
    if target.is_dir() and not (marker and (target / marker).is_file()):
        raise UsageError(f"'{path}' is a folder, which is not replaced")


@contextmanager
def safe_output(path: str, *, force: bool, marker: str = '') -> Iterator[str]:
    """
    Yield a temporary path to write, and move it to the target at the end.

    The path is in a temporary folder beside the target. The folder is always removed, also if the
    block raises. If the target is a link, its destination is replaced.

    :param path: The target.
    :param force: Whether to replace an existing one.
    :param marker: As in :func:`check_output`.
    :raises UsageError: If it cannot be written, or may not.
    """
    check_output(path, force=force, marker=marker)
    target = Path(os.path.realpath(path))
    with _report_write_errors(path):
        parent = tempfile.mkdtemp('.partial', f'.{target.name[:100]}.', target.parent)
    try:
        made = Path(parent) / target.name
        yield str(made)
        check_output(path, force=force, marker=marker)
        with _report_write_errors(path):
            _move_output(made, target, force=force, aside=Path(parent) / 'replaced')
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@contextmanager
def _report_write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def write_output(path: str, data: bytes, *, force: bool) -> None:
    """
    Write a file, with the permissions of the replaced file.

    :param force: Whether to replace an existing one.
    :raises UsageError: If it cannot be written, or may not.
    """
    with safe_output(path, force=force) as made, _report_write_errors(path):
        Path(made).write_bytes(data)
        if os.path.exists(path):
            shutil.copymode(path, made)


def _move_output(made: Path, target: Path, *, force: bool, aside: Path) -> None:
    """Move a file or folder to the target; an existing one is never lost."""
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
