# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The blocks of the documents."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def documents(load):
    """Return the module ``blocks`` of this folder."""
    return load('document_blocks', Path(__file__).with_name('blocks.py'))
