# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The small robots, for folders that look for them here."""

from small_robots import ANKLE, leg, urdf

__all__ = ['ANKLE', 'leg', 'urdf']
