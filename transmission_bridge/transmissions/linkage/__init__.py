# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms from the joints and links of the URDF."""
