# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The robots of all tests: elements, mechanisms, and named robots with their formulas."""
