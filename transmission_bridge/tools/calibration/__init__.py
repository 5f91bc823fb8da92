# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Find the numbers of transmissions from known positions of actuators and joints.

The equation is in :mod:`~transmission_bridge.tools.calibration.numbers`. ``hand`` has the motion,
``outcome`` the numbers that follow from it, ``guide`` the steps, and ``servo_files`` positions
from files; imports point from the guide to the numbers. ``calibrate`` and ``tune`` use it. Needs
scipy (extra ``calibrate``).
"""
