# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The commands, one module each.

A module here that defines ``COMMAND``, a :class:`~transmission_bridge.tools.command.Command`, is a
command of the module's name. Modules are imported when their command is asked for, and all of them
for the general help; so they import what is costly (numpy, lxml, rclpy) inside ``run``, or in a
module that ``run`` imports.
"""
