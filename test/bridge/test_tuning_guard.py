# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Changes of linkages while their joints are commanded."""

from __future__ import annotations

from command_paths import check_ratios
import numpy as np
import pytest

from transmission_bridge import load_description, RobotTransmissions
from transmission_bridge.errors import ParameterError


@pytest.mark.parametrize('name', ['four_bar_knee', 'five_bar', 'push_rod_ankle'])
def test_only_the_commanded_joints_of_a_linkage_are_looked_at(linkages, name):
    """A small change passes, a sudden one is refused; passive joints only follow."""
    robot = RobotTransmissions(load_description(linkages[name], strict=True))
    (binding,) = robot.bindings
    actuator = robot.actuator_names[-1]
    live = np.zeros(len(robot.joint_names), dtype=bool)
    live[binding.joints[0]] = True

    def change(number, value):
        after = robot.with_parameters(
            {f'{binding.spec.name}.actuators.{actuator}.{number}': value}
        )
        check_ratios(robot, after, np.zeros(len(robot.actuator_names)), live)

    change('offset', 0.02)
    with pytest.raises(ParameterError, match='would shift by'):
        change('offset', 0.4)
    with pytest.raises(ParameterError, match='would move in the opposite direction'):
        change('mechanical_reduction', -5.0)
    live[:] = False
    change('offset', 0.4)
