# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The scenarios of ``scenarios.py`` by a bridge without a node."""

import pytest
from scenarios import SCENARIOS
from world import World


@pytest.mark.parametrize('scenario', SCENARIOS, ids=lambda each: each.name)
def test_scenario(scenario):
    """Drivers are sent what the scenario says, step by step."""
    World(scenario.robot, **scenario.options).play(scenario)
