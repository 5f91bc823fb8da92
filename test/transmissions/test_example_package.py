# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The example package; colcon installs it and runs its own tests (.ci/colcon)."""

from documents import ROOT

EXAMPLE = ROOT / 'examples' / 'custom_transmission'


def test_its_versions_and_files_agree():
    """package.xml and setup.py say the same version, and the marker for ament is there."""
    assert '<version>0.1.0</version>' in (EXAMPLE / 'package.xml').read_text(encoding='utf-8')
    assert "version='0.1.0'" in (EXAMPLE / 'setup.py').read_text(encoding='utf-8')
    assert (EXAMPLE / 'resource' / 'custom_transmission').exists()
