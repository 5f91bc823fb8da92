# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find the numbers of transmissions from known positions of actuators and joints.

The equation is in :mod:`~transmission_bridge.tools.calibration.numbers`. Needs scipy (extra
``calibrate``).
"""
