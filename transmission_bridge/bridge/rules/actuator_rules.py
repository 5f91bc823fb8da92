# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Rules on the numbers of actuators in SI, in the order of application.

A plan makes them for each pattern, and the gate applies them after the rules on joints, which set
the numbers of actuators; the guard of tuning applies limits alone. A rule writes the motion only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transmission_bridge.bridge.ledger import Ledger
from transmission_bridge.bridge.motion import EFFORT, Motion, Pattern, POSITION, VELOCITY
from transmission_bridge.bridge.options.options import split_option_pairs
from transmission_bridge.bridge.robot_facts import RobotFacts
from transmission_bridge.bridge.rules.joint_rules import list_owned_actuators
from transmission_bridge.bridge.rules.rule import (
    describe_limit_violations,
    mask_beyond_limits,
    ROUNDING,
    Rule,
    RuleVerdict,
)
from transmission_bridge.bridge.states.states import KnownState
from transmission_bridge.errors import shortened
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.types import Array, Mask


class TurnRule(Rule):
    """No position is sent to an actuator in an unknown turn: it could be whole turns away."""

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all actuators."""
        if facts.options.wrap_period and not pattern.is_end and pattern.mask[POSITION].any():
            yield cls(facts)

    def __init__(self, facts: RobotFacts) -> None:
        wrapped = split_option_pairs('wrap_period', facts.options.wrap_period)
        self._robot, names = facts.robot, facts.robot.actuator_names
        self._wraps: Mask = np.isin(names, list(wrapped))

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Reject positions."""
        is_open = self._wraps & np.isnan(state.spells[POSITION])
        if 1 not in is_open.tobytes():
            return None
        positions = motion.sent[POSITION].reshape(-1, len(is_open))
        places = np.flatnonzero(np.isfinite(positions).any(axis=0) & is_open)
        if not len(places):
            return None
        names = [self._robot.actuator_names[actuator] for actuator in places]
        return RuleVerdict(
            'unknown_turn',
            f'the turn of {shortened(names)} is unknown, or its driver has sent no position; '
            'positions cannot be sent: see diagnostics',
            self._robot.joints_of(places),
        )


class ActuatorLimitRule(Rule):
    """
    With ``limits`` every actuator stays within its limits.

    A position is clamped if one actuator moves one joint, else rejected. The velocities of the
    actuators of one transmission are scaled together to keep their direction in joint space, and
    so are their efforts. Ends are changed, never rejected.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all actuators."""
        if np.isfinite(facts.motor_bounds[..., pattern.actuators]).any():
            yield cls(facts, pattern)

    def __init__(self, facts: RobotFacts, pattern: Pattern) -> None:
        self._facts, self._bounds = facts, facts.motor_bounds
        self._lower, self._upper = pattern.cut_rows(facts.motor_bounds)
        self._may_reject = not pattern.is_end
        self._rejects = facts.options.limits == 'reject'

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Clamp, scale or reject."""
        sent, robot = motion.sent, self._facts.robot
        outside = (sent < self._lower) | (sent > self._upper)
        if 1 not in outside.tobytes():
            return None
        changes: list[tuple[str, tuple[str, ...]]] = []
        shares: dict[str, float] = {}
        for binding in robot.bindings:
            motors = list_owned_actuators(binding)
            joints = tuple(robot.joint_names[joint] for joint in binding.joints)
            for row in (POSITION, VELOCITY, EFFORT):
                numbers, (lower, upper) = sent[row][..., motors], self._bounds[:, row, motors]
                outside = (numbers < lower) | (numbers > upper)
                if not outside.any():
                    continue
                # Rounding of the map must not reject a value exactly at a joint's limit.
                beyond = mask_beyond_limits(numbers, lower, upper)
                is_single = len(joints) == len(binding.actuators) == 1
                if self._rejects or (row == POSITION and not is_single):
                    refused = beyond & self._may_reject
                else:
                    refused = outside & (lower > upper)
                if refused.any():
                    return self._reject(binding.spec.name, row, motors, numbers, refused)
                changed = joints if beyond.any() else ()
                changes.append(('scaled' if row else 'clamped', changed))
                if row != POSITION:
                    share = np.ones(numbers.shape)
                    np.divide(upper, np.abs(numbers), out=share, where=outside)
                    share = share.min(axis=-1, keepdims=True)
                    numbers = numbers * share
                    if row == EFFORT:
                        shares |= dict.fromkeys(changed, float(share.min()))
                # Rounding must not exceed the limit.
                sent[row][..., motors] = np.clip(numbers, lower, upper)
        return RuleVerdict(changes=changes, shares=shares)

    def _reject(
        self, transmission: str, row: int, motors: list[int], numbers: Array, refused: Mask
    ) -> RuleVerdict:
        """Return a rejection with numbers in the units of the driver."""
        all_names, units = self._facts.robot.actuator_names, self._facts.units
        names = [all_names[motor] for motor in motors]
        numbers, lower, upper = (
            units.of_drivers(bound, row, motors)
            for bound in (numbers, *self._bounds[:, row, motors])
        )
        texts = [units.find_text(name, row) for name in names]
        outside = describe_limit_violations(names, numbers, refused, lower, upper, texts)
        sentence = f'outside the {FIELDS[row]} limits of actuators of {transmission}: {outside}'
        return RuleVerdict('actuator_limit', sentence)


class SpeedRule(Rule):
    """
    The mean speed between two waypoints is within the velocity limits of joints and actuators.

    If a ratio varies, the speeds before and after the middle are also compared.
    """

    @classmethod
    def make(cls, facts: RobotFacts, pattern: Pattern) -> Iterator[Rule]:
        """Yield one rule for all joints."""
        has_positions = pattern.is_trajectory and pattern.mask[POSITION].any()
        if has_positions and facts.options.limits != 'off':
            yield cls(facts)

    def __init__(self, facts: RobotFacts) -> None:
        self._robot = facts.robot
        self._limits = facts.joint_speeds, facts.motor_bounds[1, VELOCITY]

    def apply(self, motion: Motion, state: KnownState, ledger: Ledger) -> RuleVerdict | None:
        """Reject a trajectory that is faster; it is never changed."""
        robot, joints, actuators = self._robot, motion.values[POSITION], motion.sent[POSITION]
        assert motion.trajectory is not None
        record, filled, _ = motion.trajectory
        rows = np.flatnonzero(filled[POSITION])
        if len(rows) < 2:
            return None
        joints, actuators = joints[rows], actuators[rows]
        # Subtract integers, because floats of seconds would lose nanoseconds.
        instants = [s * 10**9 + ns for s, ns in (point.time for point in record.points)]
        times = 1e-9 * np.array([instant - instants[0] for instant in instants])[rows]
        verdict = _judge_fast('limit', times, joints, self._limits[0], robot.joint_names)
        if verdict is not None:
            return verdict
        if not robot.is_constant:
            middle = robot.joint_to_actuator('position', 0.5 * (joints[1:] + joints[:-1]))
            halves = np.empty((2 * len(rows) - 1, actuators.shape[1]))
            halves[::2], halves[1::2] = actuators, middle
            times = np.interp(np.arange(len(halves)), 2.0 * np.arange(len(rows)), times)
            actuators = halves
        names = robot.actuator_names
        return _judge_fast('actuator_limit', times, actuators, self._limits[1], names)


def _judge_fast(
    reason: str, times: Array, positions: Array, limits: Array, names: tuple[str, ...]
) -> RuleVerdict | None:
    speeds = np.abs(np.diff(positions, axis=0)) / np.diff(times)[:, np.newaxis]
    fast = np.argwhere(speeds > limits * (1.0 + ROUNDING))
    if not len(fast):
        return None
    number, member = fast[0]
    return RuleVerdict(
        reason,
        f'{names[member]} would move at {speeds[number, member]:g} between {times[number]:g} s '
        f'and {times[number + 1]:g} s, expected at most {limits[member]:g}',
    )


#: In the order of application: limits are the last change of a number.
ACTUATOR_RULES = TurnRule, ActuatorLimitRule, SpeedRule
