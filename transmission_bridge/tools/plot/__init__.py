# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a robot's drive. Needs matplotlib (extra ``plot``)."""
