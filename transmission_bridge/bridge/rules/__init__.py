# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rules of the gate: each is a class with one method that returns data.

A plan makes them for each pattern. The gate applies all of them, and the guard of tuning some.
Other modules import the modules of this package directly.
"""
