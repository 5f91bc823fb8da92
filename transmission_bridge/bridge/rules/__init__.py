# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Rules of the gate: each is a class with one method that returns data."""
