# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Numbers of joints for simulation and control, from numbers of motors.

``command`` is the command line and the formats, ``cards`` the numbers. No other package imports
it.
"""
