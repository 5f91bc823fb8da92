# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Components that several test modules use are built once."""

from __future__ import annotations

from component_manager import build_manager, require_compiler
import pytest


@pytest.fixture(scope='session')
def build_once(tmp_path_factory):
    """Return a function that builds a component with a manager, once for each name and version."""
    root, programs = tmp_path_factory.mktemp('components'), {}

    def build(urdf, name, version='new', more=()):
        require_compiler()
        if (name, version) not in programs:
            programs[name, version] = build_manager(root, urdf, name, version, more)
        return programs[name, version]

    return build
