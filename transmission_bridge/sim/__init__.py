# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A simulated driver and the motion of the demo, without a node. Needs numpy only."""
