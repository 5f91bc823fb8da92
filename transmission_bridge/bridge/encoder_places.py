# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Detection of absolute encoders that are mapped as motor encoders but move like joints."""

from __future__ import annotations

from collections import Counter
import math

import numpy as np

from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: Smallest ratio between motor and joint, in either direction, to distinguish their motions.
_RATIO = 2.0

#: Motion of a joint for one comparison [rad or m]; more than noise and backlash.
_TURNING, _SLIDING = 0.25, 0.025

#: Tolerance as a share of the motion. Below 5 %: an encoder in turns must not look like a gear of
#: 6 to 1.
_AGREEMENT = 0.04

#: Comparisons in a row with the same result; fewer may be chance.
_JUDGEMENTS = 3

#: Largest motion between two readings of a single-turn encoder [rad]. Less than half a turn,
#: because motor and joint are not read simultaneously.
_STEP = 3.0


class EncoderPlaces:
    """
    Finds absolute encoders at joints that are mapped as if they were at the motors.

    It compares motions, because zeros differ: between two readings an encoder at the motor moves
    by ``da``, an encoder at the joint by ``dq = J da``. Steps, modulo turns, are added until the
    joint has moved far enough. A transmission is checked if it has one actuator, one joint and a
    constant ratio, and no other transmission reads the actuator.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self.replace_maps(robot)

    def replace_maps(self, robot: RobotTransmissions) -> None:
        """Replace the maps, and forget the former results."""
        readers = Counter(place for binding in robot.bindings for place in binding.actuators)
        judged = []
        for binding in robot.bindings:
            name, places = binding.spec.name, binding.actuators
            is_pair = len(places) == len(binding.all_joints) == 1 and readers[places[0]] == 1
            if not is_pair or not binding.transmission.is_constant:
                continue
            ratio = float(binding.transmission.jacobian(np.zeros(1))[0, 0])
            is_apart = max(abs(ratio), 1.0 / abs(ratio)) >= _RATIO
            if is_apart and name not in robot.ignore_absolute_encoder:
                judged.append((binding, places[0], ratio))
        self._names = [
            (binding.spec.name, robot.actuator_names[place], robot.joint_names[binding.joints[0]])
            for binding, place, _ in judged
        ]
        self._places = np.array([place for _, place, _ in judged], dtype=np.intp)
        self._ratios = np.array([ratio for *_, ratio in judged])
        slides = {joint.name for joint in robot.robot.joints if joint.type == 'prismatic'}
        self._enough = np.array(
            [_SLIDING if joint in slides else _TURNING for *_, joint in self._names]
        )
        self.reset()

    def reset(self) -> None:
        """Forget every reading and result."""
        n = len(self._names)
        # Rows: motor and encoder.
        self._last = np.full((2, n), np.nan)
        self._moved = np.zeros((2, n))
        self._found = np.zeros((2, n))
        self._agreed = np.zeros(n, dtype=int)

    def record_positions(self, absolute: Array, position: Array) -> None:
        """
        Use the absolute positions of a message.

        :param absolute: Absolute positions in SI, shape ``(n_actuators,)``, NaN: not in this
            message.
        :param position: Positions of the actuators at that time, same shape, NaN: unknown.
        """
        if not self._names:
            return
        is_given = np.isfinite(absolute[self._places])
        pair = np.array([position[self._places], absolute[self._places]])
        steps = pair - self._last
        steps[1] = np.remainder(steps[1] + math.pi, 2.0 * math.pi) - math.pi
        self._last[:, is_given] = pair[:, is_given]
        # Comparisons with NaN are false: after a gap the sum starts at zero.
        is_small = np.abs(steps[0]) * np.maximum(np.abs(self._ratios), 1.0) < _STEP
        self._moved[:, is_given & is_small] += steps[:, is_given & is_small]
        self._moved[:, is_given & ~is_small] = 0.0
        self._judge_motions()

    def _judge_motions(self) -> None:
        motor, encoder = self._moved
        joint = self._ratios * motor
        is_due = np.abs(joint) >= self._enough
        as_joint = is_due & (np.abs(encoder - joint) <= _AGREEMENT * np.abs(joint))
        as_motor = is_due & (np.abs(encoder - motor) <= _AGREEMENT * np.abs(motor))
        # Backlash or a slip does not change the result; motion like the motor does.
        is_refuted = as_motor | (is_due & ~as_joint & (self._agreed < _JUDGEMENTS))
        self._agreed[as_joint] += 1
        self._agreed[is_refuted] = 0
        self._found[:, as_joint] = self._moved[:, as_joint]
        self._moved[:, is_due] = 0.0

    def find_misplaced_encoders(self) -> dict[str, str]:
        """Return a sentence for each transmission if its encoder is probably at the joint."""
        return {
            name: f"the absolute encoder of '{actuator}' moves like joint '{joint}', not like "
            f'its motor (by {self._found[1, place]:.3g} while the motor moves by '
            f'{self._found[0, place]:.3g}, in SI): if it is at the joint, set '
            f"ignore_absolute_encoder of transmission '{name}'"
            for place, (name, actuator, joint) in enumerate(self._names)
            if self._agreed[place] >= _JUDGEMENTS
        }
