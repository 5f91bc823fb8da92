# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The suite for authors of plugins; published as :mod:`transmission_bridge.conformance`."""
