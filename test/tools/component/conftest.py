# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Components that several test modules use are built once."""

from __future__ import annotations

import fcntl

from component_manager import build_manager, require_compiler
import pytest


@pytest.fixture(scope='session')
def build_once(tmp_path_factory, request):
    """Return a function that builds a component with a manager, once for each name and version."""
    root = tmp_path_factory.getbasetemp()
    if hasattr(request.config, 'workerinput'):  # the folder of all workers
        root = root.parent
    root = root / 'components'
    root.mkdir(exist_ok=True)

    def build(urdf, name, version='new', more=()):
        require_compiler()
        with (root / 'lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            program = root / f'{name}_{version}'
            return program if program.exists() else build_manager(root, urdf, name, version, more)

    return build
