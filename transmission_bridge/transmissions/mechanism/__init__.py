# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A mechanism solved: near the last solution, and by a search.

No other room imports it. Equations and linkages make a ``Mechanism``, a ``Corrector`` and a
``Solver`` of it, and a ``MechanismPart`` with the numbers.
"""
