# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The example robot, by hand: the values of the joints and actuators of ``urdf/arm.urdf``.

Plain arithmetic with the robot's numbers, without the package, so that the demo compares two
independent derivations. Each value is a tuple of terms. Their sum is the value, and errors are
relative to the sum of their magnitudes.

Numbers: shoulder_pan 101 and offset 0.25; forearm_roll -72.5; four-bar actuators 64 and -80,
joints 1.75 and 1.2, offsets -0.35 and 1.1; differential actuators 48 and -50, joints 1.25 and
-0.8, offsets 0.1 and -0.2.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ['ACTUATORS', 'JOINTS', 'Terms', 'actuators_from_joints', 'joints_from_actuators']

Terms = tuple[float, ...]

JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow', 'forearm_roll', 'wrist_pitch', 'wrist_roll')

ACTUATORS = (
    'shoulder_pan_motor',
    'shoulder_lift_motor',
    'elbow_motor',
    'forearm_roll_motor',
    'wrist_left_motor',
    'wrist_right_motor',
)


def joints_from_actuators(interface: str, actuators: Mapping[str, float]) -> dict[str, Terms]:
    """
    Return the terms of every joint's value.

    :param interface: ``position``, ``velocity`` or ``effort``.
    :param actuators: Values of all actuators.
    """
    pan, lift, elbow, forearm, left, right = (actuators[name] for name in ACTUATORS)
    if interface == 'position':
        return {
            'shoulder_pan': (pan / 101.0, 0.25),
            'shoulder_lift': (lift / 64.0 / 1.75, -0.35),
            'elbow': (elbow / -80.0 / 1.2, -lift / 64.0 / 1.75 / 1.2, 1.1),
            'forearm_roll': (forearm / -72.5,),
            'wrist_pitch': (left / 48.0 / 1.25 / 2.0, right / -50.0 / 1.25 / 2.0, 0.1),
            'wrist_roll': (left / 48.0 / -0.8 / 2.0, -right / -50.0 / -0.8 / 2.0, -0.2),
        }
    if interface == 'velocity':
        return {
            'shoulder_pan': (pan / 101.0,),
            'shoulder_lift': (lift / 64.0 / 1.75,),
            'elbow': (elbow / -80.0 / 1.2, -lift / 64.0 / 1.75 / 1.2),
            'forearm_roll': (forearm / -72.5,),
            'wrist_pitch': (left / 48.0 / 1.25 / 2.0, right / -50.0 / 1.25 / 2.0),
            'wrist_roll': (left / 48.0 / -0.8 / 2.0, -right / -50.0 / -0.8 / 2.0),
        }
    return {
        'shoulder_pan': (pan * 101.0,),
        'shoulder_lift': (lift * 64.0 * 1.75, elbow * -80.0),
        'elbow': (elbow * -80.0 * 1.2,),
        'forearm_roll': (forearm * -72.5,),
        'wrist_pitch': (left * 48.0 * 1.25, right * -50.0 * 1.25),
        'wrist_roll': (left * 48.0 * -0.8, -right * -50.0 * -0.8),
    }


def actuators_from_joints(interface: str, joints: Mapping[str, float]) -> dict[str, Terms]:
    """
    Return the terms of every actuator's value.

    :param interface: ``position``, ``velocity`` or ``effort``.
    :param joints: Values of all joints.
    """
    pan, lift, elbow, forearm, pitch, roll = (joints[name] for name in JOINTS)
    if interface == 'position':
        return {
            'shoulder_pan_motor': (pan * 101.0, -0.25 * 101.0),
            'shoulder_lift_motor': (lift * 64.0 * 1.75, 0.35 * 64.0 * 1.75),
            'elbow_motor': (lift * -80.0, 0.35 * -80.0, elbow * -80.0 * 1.2, -1.1 * -80.0 * 1.2),
            'forearm_roll_motor': (forearm * -72.5,),
            'wrist_left_motor': (
                pitch * 48.0 * 1.25,
                -0.1 * 48.0 * 1.25,
                roll * 48.0 * -0.8,
                0.2 * 48.0 * -0.8,
            ),
            'wrist_right_motor': (
                pitch * -50.0 * 1.25,
                -0.1 * -50.0 * 1.25,
                -roll * -50.0 * -0.8,
                -0.2 * -50.0 * -0.8,
            ),
        }
    if interface == 'velocity':
        return {
            'shoulder_pan_motor': (pan * 101.0,),
            'shoulder_lift_motor': (lift * 64.0 * 1.75,),
            'elbow_motor': (lift * -80.0, elbow * -80.0 * 1.2),
            'forearm_roll_motor': (forearm * -72.5,),
            'wrist_left_motor': (pitch * 48.0 * 1.25, roll * 48.0 * -0.8),
            'wrist_right_motor': (pitch * -50.0 * 1.25, -roll * -50.0 * -0.8),
        }
    return {
        'shoulder_pan_motor': (pan / 101.0,),
        'shoulder_lift_motor': (lift / 64.0 / 1.75, -elbow / 64.0 / 1.75 / 1.2),
        'elbow_motor': (elbow / -80.0 / 1.2,),
        'forearm_roll_motor': (forearm / -72.5,),
        'wrist_left_motor': (pitch / 48.0 / 1.25 / 2.0, roll / 48.0 / -0.8 / 2.0),
        'wrist_right_motor': (pitch / -50.0 / 1.25 / 2.0, -roll / -50.0 / -0.8 / 2.0),
    }
