# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What ``export`` does: from its arguments to its last sentence."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from transmission_bridge.tools.command import Exit, UsageError
from transmission_bridge.tools.console import Console, printable
from transmission_bridge.tools.export_description import export, Exported
from transmission_bridge.tools.interrupts import clean_end
from transmission_bridge.tools.parameter_file import read_parameter_file
from transmission_bridge.tools.robot_arguments import aliases_of
from transmission_bridge.tools.robot_file import read_robot_file, STANDARD_INPUT
from transmission_bridge.tools.safe_output import check_output, safe_output

__all__ = ['run_job']


def run_job(options: argparse.Namespace, console: Console) -> Exit:
    """
    Do it.

    :raises UsageError: For what the user can mend.
    :raises DescriptionError: If the description is none.
    """
    if options.in_place and options.file == STANDARD_INPUT:
        raise UsageError('--in-place needs a file')
    if options.output:
        check_output(options.output, force=options.force)
    data = read_robot_file(options.file)
    values = read_parameter_file(read_robot_file(options.params), options.params)
    exported = export(data, values, aliases_of(options.alias))
    if options.in_place:
        path = os.path.realpath(options.file)
        if exported.changes:
            _write(exported.data, path, force=True)
    elif options.output:
        _write(exported.data, options.output, force=options.force)
    else:
        _print(exported.data, console)
        return Exit.OK
    _tell(exported, console)
    return Exit.OK


def _write(data: bytes, path: str, *, force: bool) -> None:
    """Write a file as a whole, with the permissions of the one that it replaces."""
    with clean_end(), safe_output(path, force=force) as made:
        try:
            with open(made, 'xb') as file:
                file.write(data)
            if os.path.exists(path):
                shutil.copymode(path, made)
        except OSError as error:
            raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def _print(data: bytes, console: Console) -> None:
    """Print the bytes as they are, where standard output takes bytes."""
    buffer = getattr(sys.stdout, 'buffer', None)
    if buffer is None:
        console.out.write(data.decode('utf-8', 'backslashreplace'))
        return
    console.out.flush()
    try:
        buffer.write(data)
    except BrokenPipeError:  # the reader has gone; flushing at the end deals with that
        pass
    except OSError as error:
        raise UsageError(f'cannot write the output: {error.strerror}') from None


def _tell(exported: Exported, console: Console) -> None:
    for change in exported.changes:
        console.out.line(printable(f'{change.name}: {change.before!r} -> {change.after!r}'))
    console.out.line(f'numbers written: {len(exported.changes)}; there already: {exported.n_same}')
