# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a command is, and how it ends."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from transmission_bridge.tools.console import Console

__all__ = ['Command', 'Exit', 'UsageError']


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    #: What was looked at has errors.
    ERRORS = 1
    #: It could not be looked at: wrong usage, or a file that cannot be read or written.
    USAGE = 2
    #: Ctrl-C, as shells count it.
    INTERRUPTED = 130


class UsageError(Exception):
    """The user's mistake in one sentence; ends a command with :attr:`Exit.USAGE`."""


@dataclass(frozen=True, slots=True)
class Command:
    """
    One command.

    :param summary: One line for the general help.
    :param description: What it does and what its exit codes mean, for its own help.
    :param example: Command lines to copy, for its own help.
    :param add_arguments: Adds its arguments to a parser.
    :param run: Does it, and returns the exit code. Raises :class:`UsageError` or an error of this
        package for what the user can mend.
    """

    summary: str
    description: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Console], Exit]
