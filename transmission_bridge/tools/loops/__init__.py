# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge loops``: transmissions from the loops that another file states.

``command`` reads by ``formats`` and ``mjcf``, then ``proposal`` decides and ``writing`` writes. No
other package imports it.
"""
