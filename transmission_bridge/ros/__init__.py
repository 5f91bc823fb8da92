# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Thin node shells: the only room that imports rclpy and message packages."""
