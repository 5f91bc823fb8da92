# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Wire formats and message-level conversions, duck-typed: no message package is imported."""
