# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The motion of the demo: sines with a smooth transition from the present position."""

from __future__ import annotations

from collections.abc import Mapping
import math

#: Seconds of the transition from the start to the sine.
_ENTRY = 2.0


#: Centre [rad], amplitude [rad] and frequency [Hz] of the sine of each joint, within the limits of
#: the example robot, so that the bridge does not clamp them.
MOTIONS = {
    'shoulder_pan': (0.25, 0.8, 0.15),
    'shoulder_lift': (0.1, 0.5, 0.2),
    'elbow': (1.0, 0.7, 0.2),
    'forearm_roll': (0.0, 1.2, 0.25),
    'wrist_pitch': (0.0, 0.8, 0.3),
    'wrist_roll': (0.0, 1.5, 0.25),
}


def command_at(t: float, start: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """
    Return the command of all joints.

    A smooth step connects the start and the sine; the velocity is the derivative of the position.

    :param t: Time since the start [s].
    :param start: Positions at the start [rad].
    :returns: ``position`` and ``velocity``, each by joint.
    """
    u = min(t / _ENTRY, 1.0)
    share, growth = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / _ENTRY
    command: dict[str, dict[str, float]] = {'position': {}, 'velocity': {}}
    for name, (centre, amplitude, frequency) in MOTIONS.items():
        omega = 2.0 * math.pi * frequency
        away = centre + amplitude * math.sin(omega * t) - start[name]
        velocity = amplitude * omega * math.cos(omega * t)
        command['position'][name] = start[name] + share * away
        command['velocity'][name] = growth * away + share * velocity
    return command
