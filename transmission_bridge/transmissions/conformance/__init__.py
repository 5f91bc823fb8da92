# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The suite that a plugin's author runs; published as :mod:`transmission_bridge.conformance`."""
