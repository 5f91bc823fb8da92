# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The demo: the bridge with simulated motors, compared with formulas."""
