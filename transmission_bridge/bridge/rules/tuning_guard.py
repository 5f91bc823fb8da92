# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Limits on changes of a transmission while its joints are commanded.

The node asks its bridge to call it before each change of numbers while the bridge is active. It
writes no state, and warm starts only of the new maps. The description of the option
``tuning_guard`` states the bounds.
"""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import EFFORT, END, Motion, Pattern, POSITION, VELOCITY
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.rules.actuator_rules import ActuatorLimitRule
from transmission_bridge.bridge.rules.joint_rules import FollowerRule
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import ParameterError, shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import Binding, MapReport
from transmission_bridge.transmissions.robot import list_changed_jacobians
from transmission_bridge.types import Array, Mask

#: Largest shift of a position in one change, of joints that turn [rad] and that slide [m].
TURN, SLIDE = 0.1, 0.05

#: Largest factor between an entry of the Jacobian before and after one change.
FACTOR = 2.0

#: Entries below this share of the largest entry are rounding errors.
_ROUNDING = 1e-9

#: What would become of a ratio and of a torque constant.
_MOVES = 'move by {} for each unit of the motor'
_HAS_UNIT = 'have an effort of {} for each unit of its driver'


def check_tuning(
    before: RobotFacts, after: RobotFacts, position: Array, live: Mask, ledger: Ledger
) -> None:
    """
    Reject a change after which the next command would move a joint suddenly.

    Each changed transmission with a commanded joint is checked at the present position, with the
    present commands and with those after each trajectory.

    :param before: The robot in use.
    :param after: The new one; joints and actuators are the same.
    :param position: Positions of the actuators in SI, shape ``(n_actuators,)``; NaN: a ratio that
        depends on it is unknown, which rejects the change.
    :param live: Mask of the commanded joints, shape ``(n_joints,)``.
    :param ledger: Their commands.
    :raises ParameterError: If an entry of ``J = dq/da`` changes its sign; if an entry or a torque
        constant changes by more than a factor of two; if a position of a joint changes by more
        than 0.1 rad or 0.05 m; or if new actuator limits have these effects on an active command.
    """
    slides = {joint.name for joint in before.robot.description.joints if joint.type == 'prismatic'}
    for former, binding in zip(before.robot.bindings, after.robot.bindings, strict=True):
        old = former.transmission
        if old is binding.transmission or not live[list(binding.joints)].any():
            continue
        motors = list(binding.actuators)
        at = position[motors]
        if binding.transmission.is_constant:
            at = np.nan_to_num(at)
        try:
            # Commanded joints come first; ignore the passive joints.
            count, both = len(binding.joints), (old, binding.transmission)
            ratios = list_changed_jacobians(former, binding, position)
            places = [one.actuator_to_joint('position', at)[:count] for one in both]
        except Exception as error:  # a plugin's bug rejects the change
            raise _new_error(binding, f'{type(error).__name__}: {error}') from error
        # Subject, what would become of it, with ``{}`` for the new number, and both numbers.
        changes = [
            (f'{ratio.joint} by {ratio.actuator}', _MOVES, ratio.before, ratio.after)
            for ratio in ratios
        ]
        names, one = before.robot.actuator_names, np.ones(len(position))
        scales = [facts.units.in_si(one, EFFORT).tolist() for facts in (before, after)]
        changes += [(names[k], _HAS_UNIT, scales[0][k], scales[1][k]) for k in motors]
        moved = np.abs(places[1] - places[0])
        for commands in ledger.list_final_numbers():
            # The next equal command at the actuators, with the limits before and after.
            limits = (before, after)
            sent = [_map_commands(after, facts, ledger, commands, position) for facts in limits]
            old_sent, new_sent = after.units.of_drivers(np.array(sent))
            # A velocity may become smaller.
            is_less = np.abs(new_sent[VELOCITY]) < np.abs(old_sent[VELOCITY])
            old_sent[VELOCITY, is_less] = new_sent[VELOCITY, is_less]
            for row in (VELOCITY, EFFORT):
                what = f'be sent {FIELDS[row]} {{}}'
                changes += [(names[k], what, old_sent[row, k], new_sent[row, k]) for k in motors]
            targets = [after.robot.actuator_to_joint('position', at[POSITION]) for at in sent]
            shifts = np.where(np.isnan(commands[0][POSITION]), 0.0, np.abs(np.subtract(*targets)))
            moved = np.maximum(moved, shifts[list(binding.joints)])
        for subject, what, number, later in changes:
            small, large = sorted((abs(number), abs(later)))
            if number * later < 0.0:
                raise _new_error(binding, f'{subject} would move in the opposite direction')
            if large > FACTOR * (1.0 + _ROUNDING) * small:  # NaN: not commanded
                sentence = f'{subject} would {what.format(f"{later:.3g}")}'
                raise _new_error(binding, f'{sentence} instead of {number:.3g}')
        for member, shift in zip(binding.spec.joints, moved.tolist(), strict=True):
            limit, unit = (SLIDE, 'm') if member.name in slides else (TURN, 'rad')
            if not shift <= limit * (1.0 + _ROUNDING):  # an unknown shift may be a large one
                distance = 'an unknown distance' if np.isnan(shift) else f'{shift:.3g} {unit}'
                what = f'would shift by {distance}, expected at most {limit:g} {unit}'
                raise _new_error(binding, f'{member.name} {what}')


def _map_commands(
    facts: RobotFacts,
    limited: RobotFacts,
    ledger: Ledger,
    commands: tuple[Array, Array],
    position: Array,
) -> Array:
    """Return commands of joints mapped to the actuators, within the limits of another robot."""
    (joints, actuators), measured = commands, facts.robot.actuator_to_joint('position', position)
    unknown = np.full_like(measured, np.nan), np.full_like(actuators, np.nan)
    state = KnownState(0.0, measured, *unknown)
    pattern = Pattern(limited, END, np.isfinite(joints).tobytes())
    motion = Motion('', pattern, joints.copy(), actuators)
    for rule in FollowerRule.make(limited, motion.pattern):
        rule.apply(motion, state, ledger)
    motion.sent = facts.stream.map_command(motion.values, measured, MapReport()).copy()
    for rule in ActuatorLimitRule.make(limited, motion.pattern):
        rule.apply(motion, state, ledger)
    return motion.sent


def _new_error(binding: Binding, what: str) -> ParameterError:
    joints = shortened([member.name for member in binding.spec.joints])
    return ParameterError(
        f'{joints} is commanded now: {what}. Stop commanding it, change the number in smaller '
        'steps, or set tuning_guard to false',
        transmission=binding.spec.name,
    )
