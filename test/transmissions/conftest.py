# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Registries of classes."""

import pytest

from transmission_bridge.transmissions import Registry


class _Entry:
    """An entry point that is no file."""

    dist = None

    def __init__(self, cls):
        self.name, self.value = f'me/{cls.__name__}', f'here:{cls.__name__}'
        self.load = lambda: cls


@pytest.fixture(scope='session')
def registry_of():
    """Return a function that makes a registry of classes, each of type ``me/`` and its name."""
    return lambda *classes: Registry([_Entry(cls) for cls in classes])
