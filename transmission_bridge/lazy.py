# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Names that a package exports and imports at their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def import_lazily(
    package: str, exported: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any]]:
    """
    Return ``__all__`` and ``__getattr__`` of a package.

    A name costs the import of its module, and not of all modules beside it: most commands need few
    of them, and most robots need no CasADi.

    :param exported: Names exported from each module, which is also an attribute; modules are
        relative to the package.
    """
    modules = {name: module for module, names in exported.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name in exported:
            return import_module(f'{package}.{name}')
        if name not in modules:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        return getattr(import_module(f'{package}.{modules[name]}'), name)

    return sorted(modules), __getattr__
