# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The command line: ``transmission_bridge COMMAND``, one module or folder for each command.

Arguments and help of all commands are in :mod:`transmission_bridge.tools.commands`.
"""
