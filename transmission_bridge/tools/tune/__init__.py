# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge tune``: a page with the robot in 3D and every number beside it.

``model`` has the numbers, ``robots`` the state, ``session`` the loop, the panels the widgets;
``command`` joins them, and other commands use none of these modules. One thread does all work
but the server's.
"""
