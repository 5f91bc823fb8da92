# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Estimate the numbers of transmissions from paired recordings of actuators and joints.

The model is in :mod:`~transmission_bridge.tools.calibration.model`, the estimator in
:mod:`~transmission_bridge.tools.calibration.estimate`. Needs scipy (extra ``calibrate``).
"""
