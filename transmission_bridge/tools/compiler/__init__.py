# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge compile``: the maps of a robot as C.

``command`` makes a ``CompiledRobot``, and the writers and the fingerprint read it. No other
package imports it.
"""
