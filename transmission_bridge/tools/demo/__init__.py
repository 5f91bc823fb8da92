# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The demo: a simulated driver and the bridge, compared with formulas."""
