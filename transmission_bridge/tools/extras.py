# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some commands need, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from transmission_bridge.tools.command import UsageError

__all__ = ['optional']


def optional(module: str, extra: str) -> Any:
    """
    Import a module of an optional library.

    :param module: Its name, for example ``scipy.optimize``.
    :param extra: The extra of this package that installs the library.
    :returns: The module.
    :raises UsageError: If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition('.')[0]
        raise UsageError(
            f"this needs {library}, which cannot be imported ({error}): pip install '"
            f"transmission_bridge[{extra}]', or python3-{library} where your system has it"
        ) from None
