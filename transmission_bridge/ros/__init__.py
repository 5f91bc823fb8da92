# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The nodes. Only this room imports rclpy and message packages.

It exports nothing: entry points, launch files and tools import its modules by name.
"""
