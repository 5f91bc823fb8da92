# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The numbers of a robot for the page: previews, proposals, undo and saving, without page and ROS.

The model changes its own copy of the robot only. The robots of the page make it; session and
panels preview values, let the robot apply them, pass them to :meth:`TuneModel.accept_values`, and
record a step for undo, in this order and in one thread. Parameters have their full names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import difflib
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge import compute_zero_offsets
from transmission_bridge.bridge.options import list_parameter_names, PREFIX, strip_prefixes
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.export import render_tuned_numbers
from transmission_bridge.tools.files import is_parameter_file
from transmission_bridge.tools.units import list_position_limits, report_joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import RobotTransmissions, Tunable
from transmission_bridge.transmissions.robot import (
    compute_jacobian_at,
    JacobianChange,
    list_changed_jacobians,
)
from transmission_bridge.types import Array, Mask

#: Seconds in which changes of the same numbers form one undo step, such as dragging a slider.
_ONE_STEP = 1.0

#: Undo steps that are stored.
_MOST_STEPS = 1000

#: Speed above which a joint is moving [rad/s or m/s], the default of the bridge.
_MOVING = 0.01

#: Entries of a Jacobian below this share of the largest one, and differences of positions below it
#: [rad or m], are rounding errors.
_ROUNDING = 1e-9


#: Lower and upper position limit, infinite if absent, and their unit.
Limits = tuple[float, float, str]


class TuneNotPossible(TransmissionBridgeError):
    """A change that cannot be proposed; the message is the reason."""


class Number(NamedTuple):
    """
    A number of a transmission.

    :param name: Name of its parameter.
    :param unit: Empty for a pure number.
    :param tunable: Its description, range and current value.
    """

    name: str
    unit: str
    tunable: Tunable


class JointShift(NamedTuple):
    """The computed position of a joint before and after a change of numbers [rad or m]."""

    joint: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Preview:
    """
    The effect of a change of numbers.

    :param robot: The maps after the change, ``None`` if the change is invalid.
    :param shifts: Joints with another computed position, NaN if it is unknown.
    :param ratios: Ratios that would change.
    :param reason: Why the change is invalid, else empty.
    """

    robot: RobotTransmissions | None
    shifts: tuple[JointShift, ...] = ()
    ratios: tuple[JacobianChange, ...] = ()
    reason: str = ''


class SavedFile(NamedTuple):
    """
    A file to be written.

    :param data: Its content.
    :param lines: Its difference from the file or description used now, as lines of ``diff -u``.
    """

    data: bytes
    lines: tuple[str, ...]


class TuneModel:
    """
    The numbers of a robot as described and as they are now, and the steps that undo changes.

    :param description: The description, for saving.
    :param robot: The maps with the numbers of the description.
    :ivar robot: The maps with the current numbers; :meth:`accept_values` alone replaces them.
    :ivar original: The maps with the numbers of the description.
    :ivar limits: Limits of all joints, by name.
    :ivar has_lost: Whether the last step is a start of the bridge that lost numbers; the next step
        or its undo ends it.
    """

    def __init__(self, description: bytes, robot: RobotTransmissions) -> None:
        self.original = robot
        self.robot = robot
        self.limits = list_position_limits(robot.description, robot.joint_names)
        self._description = description
        self._described = {
            name: tunable
            for name, tunable in list_parameter_names(robot).tunables.items()
            if not tunable.is_flag
        }
        self.has_lost = False
        #: Time [s] of each change that can be undone, and the values before it.
        self._done: list[tuple[float, Mapping[str, float]]] = []

    # -- current numbers -------------------------------------------------------------------------

    def list_numbers(self, transmission: str) -> tuple[Number, ...]:
        """Return the numbers of a transmission, with their current values."""
        return tuple(map(self.find_number, self._list_names(transmission)))

    def _list_names(self, transmission: str) -> list[str]:
        """Return the names of the parameters of a transmission."""
        described = self._described.items()
        return [name for name, number in described if number.transmission == transmission]

    def find_number(self, name: str) -> Number:
        """Return the number of a parameter, with its current value."""
        tunable = self.robot.parameters[name.removeprefix(PREFIX)]
        unit = tunable.unit
        if unit == UNKNOWN_UNIT and tunable.path[0] == 'joints':
            unit = report_joint_unit(self.robot.description, tunable.path[1])
        return Number(name, unit, tunable)

    def find_value(self, name: str) -> float:
        """Return the current value of a parameter."""
        return self.robot.parameters[name.removeprefix(PREFIX)].value

    def list_changes(self) -> dict[str, tuple[float, float]]:
        """Return the described and the current values that differ, by parameter."""
        return {
            name: (described.value, now)
            for name, described in self._described.items()
            if described.value != (now := self.find_value(name))
        }

    # -- changing --------------------------------------------------------------------------------

    def preview_change(self, values: Mapping[str, float], position: Array) -> Preview:
        """
        Return the effect of a change at the present position.

        :param values: New values by parameter.
        :param position: Actuator positions at the motors [rad or m], NaN if unknown.
        """
        try:
            tuned = self.robot.with_parameters(strip_prefixes(values))
        except TransmissionBridgeError as error:
            return Preview(None, reason=str(error))
        with np.errstate(all='ignore'):
            before, after = (
                robot.actuator_to_joint('position', position) for robot in (self.robot, tuned)
            )
        shifts: list[JointShift] = []
        changes: list[JacobianChange] = []
        names = {self._described[number].transmission for number in values}
        for former, later in zip(self.robot.bindings, tuned.bindings, strict=True):
            if former.spec.name not in names:
                continue
            try:
                changes += list_changed_jacobians(former, later, position)
            except Exception as error:  # an error in a plugin
                return Preview(None, reason=f'{type(error).__name__}: {error}')
            shifts += [
                JointShift(self.robot.joint_names[row], float(before[row]), float(after[row]))
                for row in former.all_joints
                if before[row] != after[row]
            ]
        return Preview(tuned, tuple(shifts), tuple(changes))

    def accept_values(self, values: Mapping[str, float]) -> None:
        """
        Use values that are active now, from any source.

        :param values: By parameter; names of other parameters are ignored.
        :raises TransmissionBridgeError: If the values are invalid.
        """
        ours = {name: value for name, value in values.items() if name in self._described}
        if any(self.find_value(name) != value for name, value in ours.items()):
            self.robot = self.robot.with_parameters(strip_prefixes(ours))

    def accept_restarted_bridge(self, values: Mapping[str, float], now: float) -> None:
        """
        Use the values of a restarted bridge; to undo it sets those that it has lost.

        :param now: Time [s].
        :raises TransmissionBridgeError: If the values are invalid.
        """
        before = {name: self.find_value(name) for name in self._described}
        self.accept_values(values)
        lost = {name: value for name, value in before.items() if self.find_value(name) != value}
        if lost:
            self.record_step(lost, now)
            self.has_lost = True

    def record_step(self, before: Mapping[str, float], now: float) -> None:
        """
        Record a change as a step that can be undone.

        :param before: The values before the change.
        :param now: Time [s].
        """
        then, first = self._done[-1] if self._done else (-math.inf, {})
        if now - then < _ONE_STEP and first.keys() == before.keys():
            before = first
            self._done.pop()
        self._done.append((now, dict(before)))
        self.has_lost = False
        del self._done[:-_MOST_STEPS]

    def list_step_values(self) -> Mapping[str, float]:
        """
        Return the values that undo the last step.

        :raises TuneNotPossible: If there is no step.
        """
        if not self._done:
            raise TuneNotPossible('nothing to undo')
        return self._done[-1][1]

    def finish_step(self) -> None:
        """Forget the last step, because it is undone."""
        self._done.pop()
        self.has_lost = False

    # -- proposals -------------------------------------------------------------------------------

    def compute_placing_offsets(
        self, wanted: Mapping[str, float], actuators: Array, held: Mask
    ) -> dict[str, float]:
        """
        Return the offsets for which joints have known positions now.

        :param wanted: Position by joint [rad or m]; zero for *Zero here*.
        :param actuators: Present positions, velocities, efforts at the motors in SI, shape
            ``(3, n_actuators)``.
        :param held: Mask of the joints that are commanded, shape ``(n_joints,)``.
        :raises MessageError: As :func:`compute_zero_offsets`.
        """
        changes = compute_zero_offsets(
            self.robot, wanted, actuators, held=held, max_velocity=_MOVING
        )
        return {PREFIX + change.tunable.name: change.new for change in changes}

    def compute_reversal(self, joint: str, position: Array) -> dict[str, float]:
        """
        Return the change of sign that reverses the direction of a joint.

        Candidates are the reductions of its transmission, or the joint's row of a matrix. A
        candidate must reverse the joint for all of its actuators. The one that changes the fewest
        ratios of other joints is used, preferably the joint's own reduction.

        :param position: Actuator positions [rad or m], NaN if unknown.
        :raises TuneNotPossible: If no number reverses the joint by its sign.
        """
        for binding in self.robot.bindings:
            names = [member.name for member in binding.spec.joints]
            if binding.spec.type and joint in names:
                break
        else:
            raise TuneNotPossible(f'{joint} has no transmission')
        transmission, row = binding.spec.name, names.index(joint)
        ratios = np.abs(compute_jacobian_at(binding, position))
        n_movers = np.count_nonzero(ratios[row] > _ROUNDING * np.nan_to_num(ratios).max())
        candidates: list[tuple[int, dict[str, float]]] = []
        for names in self._list_sign_candidates(transmission, joint, row):
            values = {name: -self.find_value(name) for name in names}
            changes = self.preview_change(values, position).ratios
            turned = [change for change in changes if change.joint == joint]
            reverses = all(change.before * change.after < 0.0 for change in turned)
            if reverses and 0 < len(turned) == n_movers:
                candidates.append((len(changes) - len(turned), values))
        if not candidates:
            raise TuneNotPossible(f'no reduction of {transmission} reverses {joint} by its sign')
        return min(candidates, key=lambda candidate: candidate[0])[1]

    def _list_sign_candidates(self, transmission: str, joint: str, row: int) -> list[list[str]]:
        """Return groups of numbers that may have a wrong sign, most likely first."""
        paths = {name: self._described[name].path for name in self._list_names(transmission)}
        reductions = [name for name, path in paths.items() if path[-1] == 'mechanical_reduction']
        direct = [name for name in reductions if paths[name][:2] == ('joints', joint)]
        entries = [
            name for name, path in paths.items() if path[:2] == ('matrix', f'joint{row + 1}')
        ]
        others = [name for name in reductions if name not in direct]
        return [[name] for name in direct] + ([entries] if entries else []) + [[n] for n in others]

    def list_reset_values(self, transmission: str) -> dict[str, float]:
        """
        Return the described values of the numbers that differ from the description.

        :raises TuneNotPossible: If no number differs.
        """
        changed = self.list_changes()
        values = {
            name: changed[name][0] for name in self._list_names(transmission) if name in changed
        }
        if not values:
            raise TuneNotPossible('all numbers have the values of the URDF')
        return values

    # -- saving ----------------------------------------------------------------------------------

    def render_file(
        self, output: str, node: str = '', limits: Mapping[str, tuple[float, float]] | None = None
    ) -> SavedFile:
        """
        Return the file with the current numbers.

        :param output: Its name: ``.yaml`` or ``.yml`` for a parameter file with the numbers that
            differ from the description, another suffix for the description with these numbers.
        :param node: The bridge in a parameter file; empty if no bridge is known.
        :param limits: Lower and upper limit by joint [rad or m], for a description.
        :raises ParameterError: If a number cannot be written.
        """
        entries = [
            (name, now, f'{before!r} in the URDF')
            for name, (before, now) in self.list_changes().items()
        ]
        heading = 'Numbers that differ from the description, by transmission_bridge tune.'
        document = output, self._description
        data = render_tuned_numbers(*document, entries, heading, node=node, limits=limits)
        old = self._description
        if is_parameter_file(output):
            old = Path(output).read_bytes() if Path(output).is_file() else b''
        before, after = (text.decode('utf-8', 'replace').splitlines() for text in (old, data))
        lines = difflib.unified_diff(before, after, 'now', 'tuned', lineterm='', n=2)
        return SavedFile(data, tuple(lines))
