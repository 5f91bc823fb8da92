# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The command line: ``transmission_bridge COMMAND``.

A command is a module with a ``COMMAND``, listed in :mod:`transmission_bridge.tools.main`.
"""
