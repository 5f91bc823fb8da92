# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The document of descriptions says what the tables say."""

from __future__ import annotations

from pathlib import Path
import runpy

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER.parents[1] / 'docs' / 'description.md'


def test_the_document_is_made_of_the_tables():
    """It is what test/docs/description_document.py prints."""
    printed = runpy.run_path(str(FOLDER / 'description_document.py'))['document']()
    assert DOCUMENT.read_text(encoding='utf-8') == printed
