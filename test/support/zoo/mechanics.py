# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a robot of the zoo does, by its formulas: linear ones by hand, others by its maps."""

from __future__ import annotations

import itertools
import math

import numpy as np

#: What the rows of numbers are.
_MODES = ('position', 'velocity', 'effort', 'acceleration')


def span(lower=-math.inf, upper=math.inf, velocity=math.inf, effort=math.inf, **_):
    """Return the bounds of position, velocity, effort and acceleration."""
    return [(lower, upper), (-velocity, velocity), (-effort, effort), (-math.inf, math.inf)]


class No(Exception):
    """A message has to be rejected; the argument is the reason."""


class Mechanics:
    """
    Formulas with the numbers in use, and what the drivers said.

    Linear formulas are by hand; if the ratio varies, the maps of the robot are used.

    :param facts: The robot.
    :param robot: Its maps.
    :param age: Seconds after which a reading is too old.
    :param are_limited: Whether there are limits.
    """

    def __init__(self, facts, robot, age, are_limited=True):
        self.facts, self._age = facts, age
        self.numbers = {group.name: dict(group.numbers) for group in facts.groups}
        limits = {name: vars(joint) for name, joint in facts.joints.items() if are_limited}
        self.joints = {name: span(**limits.get(name, {})) for name in facts.joints}
        self.limits = {name: dict(motor.limits) for name, motor in facts.motors.items()}
        self.are_limited = are_limited
        limits = self.limits if are_limited else {}
        self.motors = {name: span(**limits.get(name, {})) for name in facts.motors}
        self.unit = {name: list(motor.unit) for name, motor in facts.motors.items()}
        self.group_of = {n: g for g in facts.groups for n in (*g.joints, *g.actuators)}
        self.use(robot)
        self.forget()

    def use(self, robot):
        """Use the numbers as they are now."""
        self.robot, self.formula = robot, {}
        for group in self.facts.groups:
            found = group.matrix(self.numbers[group.name])
            if found:
                inverse = None if group.is_few else np.linalg.inv(found[0]).tolist()
                self.formula[group.name] = (*found, inverse)

    def forget(self):
        """Forget all readings."""
        self.readings, self.heard, self.now = {}, {}, -math.inf
        # Of each actuator: the first time without a position, and how often it became known.
        self.blank, self.count, self.era = {}, {}, getattr(self, 'era', 0) + 1
        self.lost = set()

    def note_time(self, now):
        """Forget all readings if time went backwards."""
        if now < self.now:
            self.forget()
        self.now = now

    def hear(self, space, readings, now):
        """Take a message: (total position, velocity) by actuator."""
        self.note_time(now)
        self.heard[space] = now
        for name, values in readings.items():
            was_known = self.spell(name, now) is not None
            self.readings[name] = (*values, now)
            if values[0] is None:
                self.blank.setdefault(name, now)
                self.lost |= set() if was_known else {name}
            else:
                self.blank.pop(name, None)
                self.lost.discard(name)
                if not was_known or name not in self.count:
                    self.count[name] = self.count.get(name, 0) + 1

    def spell(self, name, now):
        """Return in which time without a gap an actuator is known, ``None``: it is not known."""
        is_old = name in self.readings and now - self.readings[name][2] > self._age
        if is_old or name in self.lost or now - self.blank.get(name, now) > min(self._age, 1.0):
            return None
        return self.era, self.count.get(name, 0)

    def fresh(self, name, now, row=0):
        """Return the position (or velocity) of an actuator, ``None`` if unknown or too old."""
        *values, time = self.readings.get(name, (None, None, math.inf))
        return values[row] if now - time <= self._age else None

    def measured(self, group, now, row=0):
        """Return positions (or velocities) of joints that are not too old, ``None``: unknown."""
        at = {name: self.fresh(name, now) for name in group.actuators}
        known = {name: self.fresh(name, now, row) for name in group.actuators}
        return self.to_joints(group, known, row, at)

    def _whole(self, names, values):
        values = [None if values is None else values.get(name) for name in names]
        return np.array([math.nan if value is None else value for value in values])

    def to_joints(self, group, values, row, at=None):
        """Map positions or velocities of actuators to joints; ``None``: unknown."""
        result = {}
        if group.name not in self.formula:
            names = self.robot.actuator_names
            values, point = self._whole(names, values), self._whole(names, at)
            found = self.robot.actuator_to_joint(_MODES[row], values, at=point)
            for name in group.joints:
                value = float(found[self.robot.joint_names.index(name)])
                result[name] = value if math.isfinite(value) else None
            return result
        matrix, offset, _ = self.formula[group.name]
        for joint, line, bias in zip(group.joints, matrix, offset, strict=True):
            terms = [(f, values.get(n)) for f, n in zip(line, group.actuators, strict=True) if f]
            result[joint] = None
            if all(value is not None for _, value in terms):
                result[joint] = sum(f * value for f, value in terms) + bias * (row == 0)
        return result

    def to_actuators(self, group, values, row, at=None, rate=None):
        """
        Map values of joints to actuators, at these positions if the ratio varies.

        :param row: 0 to 2, 3: acceleration, which needs a rate.
        :raises No: If they cannot be mapped.
        """
        if row and not any(values.values()) and row < 3:
            return dict.fromkeys(group.actuators, 0.0)
        if group.name not in self.formula:
            names, motors = self.robot.joint_names, self.robot.actuator_names
            values, at, rate = (self._whole(names, each) for each in (values, at, rate))
            found = self.robot.joint_to_actuator(_MODES[row], values, at=at, rate=rate)
            found = {name: float(found[motors.index(name)]) for name in group.actuators}
            if not all(map(math.isfinite, found.values())):
                raise No('unmapped')
            return found
        matrix, offset, inverse = self.formula[group.name]
        if row == 2:
            terms = [(matrix[n], values[j]) for n, j in enumerate(group.joints) if j in values]
            return {a: sum(m[k] * v for m, v in terms) for k, a in enumerate(group.actuators)}
        pairs = zip(group.joints, offset, strict=True)
        moved = [values[j] - bias * (row == 0) if j in values else None for j, bias in pairs]
        if inverse is None:  # least squares of the joints with a value
            given = [(line, v) for line, v in zip(matrix, moved, strict=True) if v is not None]
            best = np.linalg.lstsq(*map(np.array, zip(*given, strict=True)), rcond=None)[0]
            return dict(zip(group.actuators, best.tolist(), strict=True))
        return {
            name: sum(f * v for f, v in zip(line, moved, strict=True))
            for name, line in zip(group.actuators, inverse, strict=True)
        }

    def map(self, group, own, measured=None):
        """
        Map values of a group's joints, by name and row, to its actuators.

        :param measured: Where the joints are, for what is not mapped where a position is given;
            ``None``: everything is mapped there.
        """
        rows = list(own[group.joints[0]])
        given, rate = ({j: values.get(row) for j, values in own.items()} for row in (0, 1))
        result = {name: {} for name in group.actuators}
        for row in rows:
            at = given if measured is None or (row == 1 and 0 in rows) else measured
            values = {joint: each[row] for joint, each in own.items()}
            for name, value in self.to_actuators(group, values, row, at, rate).items():
                result[name][row] = value
        return result

    def speed(self, before, after):
        """
        Return the greatest share of a velocity limit between two waypoints.

        :param before: Time, and values by row of the joints and of the actuators.
        :param after: The same later.
        """
        (t0, joints0, sent0), (t1, joints1, sent1) = before, after
        shares = [0.0]
        for group in dict.fromkeys(self.group_of[joint] for joint in joints0):
            way = [sent0, sent1]
            if group.name not in self.formula:
                middle = {j: (joints0[j][0] + joints1[j][0]) / 2 for j in group.joints}
                middle = self.to_actuators(group, middle, 0)
                way.insert(1, {name: {0: value} for name, value in middle.items()})
            steps = [(joints0[j], joints1[j], self.joints[j], t1 - t0) for j in group.joints]
            for name in group.actuators:
                seconds = (t1 - t0) / (len(way) - 1)
                ends = [(x[name], y[name]) for x, y in itertools.pairwise(way)]
                steps += [(x, y, self.motors[name], seconds) for x, y in ends]
            for x, y, bounds, seconds in steps:
                shares.append(abs(y[0] - x[0]) / seconds / (bounds[1][1] or 1e-300))
        return max(shares)

    def tune(self, group, robot, changes):
        """Use other numbers of a transmission; a torque constant is a unit."""
        for key, value in changes.items():
            name, leaf = key.split('.')[1], key.split('.')[-1]
            if '.limit.' in key:
                self.limits[name][leaf] = value
                self.motors[name] = span(**(self.limits[name] if self.are_limited else {}))
            elif leaf == 'torque_constant':
                self.unit[name][2] = value
            else:
                self.numbers[group.name][key] = value
        self.use(robot)
