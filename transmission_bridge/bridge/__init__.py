# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state path and the command path without a node. Needs numpy and lxml."""
