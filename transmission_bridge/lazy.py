# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Names that a package exports and imports at their first use.

Packages with a module that is slow to import call it in their ``__init__``, after the block of
imports. It reads this block as source text, so the package needs its ``.py`` files.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
import inspect
import sys
from typing import Any


def import_lazily(package: str) -> tuple[list[str], Callable[[str], Any]]:
    """
    Return ``__all__`` and ``__getattr__`` of a package that is being imported.

    It exports the imports below its first ``if``, which is ``if TYPE_CHECKING``: so they are
    listed once, for type checkers and for the interpreter. Each is ``from MODULE import NAME as
    NAME``. ``__getattr__`` also returns a module of the package if the block imports it or a name
    from it.

    A name costs the import of its module, and not of all modules beside it: most commands need few
    of them, and most robots need no CasADi.
    """
    statements = ast.parse(inspect.getsource(sys.modules[package])).body
    block = next(statement for statement in statements if isinstance(statement, ast.If))
    imports = [each for each in block.body if isinstance(each, ast.ImportFrom)]
    modules = {alias.name: each.module or '' for each in imports for alias in each.names}

    def __getattr__(name: str) -> Any:
        module = f'{package}.{name}'
        if modules.get(name) == package or module in modules.values():
            return import_module(module)
        if name not in modules:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        return getattr(import_module(modules[name]), name)

    return sorted(modules), __getattr__
