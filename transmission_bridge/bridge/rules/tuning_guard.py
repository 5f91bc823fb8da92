# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Limits on changes of a transmission while its joints are commanded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import EFFORT, END, Motion, Pattern, POSITION, VELOCITY
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.rules.actuator_rules import ActuatorLimits
from transmission_bridge.bridge.rules.joint_rules import Followers
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import ParameterError, shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import Binding, MapReport, RobotTransmissions
from transmission_bridge.transmissions.robot import list_changed_ratios, RatioChange
from transmission_bridge.types import Array, Mask

#: Largest shift of a position in one change, of joints that turn [rad] and that slide [m].
TURN, SLIDE = 0.1, 0.05

#: Largest factor between an entry of the Jacobian before and after one change.
FACTOR = 2.0

#: Entries below this share of the largest entry are rounding errors.
_ROUNDING = 1e-9


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
        at = position[list(binding.actuators)]
        if binding.transmission.is_constant:
            at = np.nan_to_num(at)
        try:
            # Commanded joints come first; ignore the passive joints.
            count, both = len(binding.joints), (old, binding.transmission)
            ratios = list_changed_ratios(former, binding, position)
            places = [each.actuator_to_joint('position', at)[:count] for each in both]
        except Exception as error:  # a plugin's bug rejects the change
            raise _new_error(binding, f'{type(error).__name__}: {error}') from error
        _check_ratios(binding, ratios)
        _check_units(binding, before.robot, after.robot)
        moved = np.abs(places[1] - places[0])
        for commands in ledger.list_final_numbers():
            # The next equal command at the actuators, with the limits before and after.
            limits = (before, after)
            sent = [_map_commands(after, each, ledger, commands, position) for each in limits]
            _check_rates(binding, *(after.units.of_drivers(each) for each in sent))
            targets = [after.robot.actuator_to_joint('position', each[POSITION]) for each in sent]
            shifts = np.where(np.isnan(commands[0][POSITION]), 0.0, np.abs(np.subtract(*targets)))
            moved = np.maximum(moved, shifts[list(binding.joints)])
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
    for rule in Followers.make(limited, motion.pattern):
        rule.apply(motion, state, ledger)
    motion.sent = facts.stream.map_command(motion.values, measured, MapReport()).copy()
    for rule in ActuatorLimits.make(limited, motion.pattern):
        rule.apply(motion, state, ledger)
    return motion.sent


def _is_jump(low: float, high: float) -> bool:
    return abs(high) > FACTOR * (1.0 + _ROUNDING) * abs(low)


def _check_rates(binding: Binding, old: Array, new: Array) -> None:
    """
    Reject limits by which a velocity would grow, or an effort change, by a factor of two.

    :param old: Numbers for the driver before, rows position, velocity, effort.
    :param new: Numbers for the driver after, same rows.
    """
    for member, actuator in zip(binding.spec.actuators, binding.actuators, strict=True):
        for row in (VELOCITY, EFFORT):
            former, number = old[row, actuator], new[row, actuator]
            if _is_jump(former, number) or (row == EFFORT and _is_jump(number, former)):
                what = f'would be sent {FIELDS[row]} {number:.3g} instead of {former:.3g}'
                raise _new_error(binding, f'{member.name} {what}')


def _check_units(binding: Binding, before: RobotTransmissions, after: RobotTransmissions) -> None:
    """Reject a torque constant by which an effort would jump."""
    for member in binding.spec.actuators:
        if member.name in after.units:
            old, new = (robot.units[member.name].effort.scale for robot in (before, after))
            if _is_jump(old, new) or _is_jump(new, old):
                what = f'have an effort of {new:.3g} for each unit of its driver instead of'
                raise _new_error(binding, f'{member.name} would {what} {old:.3g}')


def _check_ratios(binding: Binding, changes: Sequence[RatioChange]) -> None:
    for joint, motor, old, new in changes:
        what = ''
        if old * new < 0.0:
            what = 'move in the opposite direction'
        elif _is_jump(old, new) or _is_jump(new, old):
            what = f'move by {new:.3g} for each unit of the motor instead of {old:.3g}'
        if what:
            raise _new_error(binding, f'{joint} by {motor} would {what}')


def _new_error(binding: Binding, what: str) -> ParameterError:
    joints = shortened([member.name for member in binding.spec.joints])
    return ParameterError(
        f'{joints} is commanded now: {what}. Stop commanding it, change the number in smaller '
        'steps, or set tuning_guard to false',
        transmission=binding.spec.name,
    )
