# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the page works on, without page and without ROS: numbers, previews, proposals, undo, saving.

Nothing here changes anything but its own copy of the robot: who applies proposed values reports
them to :meth:`TuneModel.accept`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import difflib
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transmission_bridge.bridge.options import find_parameter_names, PREFIX, strip_prefixes
from transmission_bridge.bridge.zeroing import find_zero_offsets
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.tools.export import export
from transmission_bridge.tools.parameter_files import parameters_yaml
from transmission_bridge.tools.units import joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import Tunable
from transmission_bridge.types import Array, Mask

__all__ = ['NotPossible', 'Number', 'Preview', 'Saved', 'Shift', 'TuneModel', 'Turn']

#: Seconds in which changes of the same numbers are one step of undo: a slider that is dragged.
_ONE_STEP = 1.0

#: Steps of undo that are kept.
_MOST_STEPS = 1000

#: Share of the largest entry of a Jacobian below which one is rounding.
_ROUNDING = 1e-9

#: Difference of positions that is rounding [rad or m].
_SAME = 1e-9

_REDUCTION = 'mechanical_reduction'


class NotPossible(TransmissionBridgeError):
    """A change that cannot be proposed, with the reason as a sentence."""


class Number(NamedTuple):
    """
    A number of a transmission.

    :param name: Name of its parameter.
    :param unit: Empty for a pure number.
    :param tunable: Its description, range and value in use.
    """

    name: str
    unit: str
    tunable: Tunable


class Shift(NamedTuple):
    """The position of a joint, as read before and after a change [rad or m]."""

    joint: str
    before: float
    after: float


class Turn(NamedTuple):
    """Motion of a joint per unit of an actuator, before and after a change."""

    joint: str
    actuator: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Preview:
    """
    What a change of numbers would do.

    :param robot: The maps afterwards, ``None`` where the change cannot be accepted.
    :param shifts: Joints that would be read elsewhere; of unknown position they are NaN.
    :param turns: Ratios that would change.
    :param reason: Why the change cannot be accepted, empty where it can.
    """

    robot: RobotTransmissions | None
    shifts: tuple[Shift, ...] = ()
    turns: tuple[Turn, ...] = ()
    reason: str = ''


class Saved(NamedTuple):
    """
    A file to be written.

    :param data: Its content.
    :param lines: Its difference from what is used now, line by line, as ``diff -u`` has it.
    """

    data: bytes
    lines: tuple[str, ...]


#: A change that was made on the page: when [s], the values before, and those after it.
_Step = tuple[float, Mapping[str, float], Mapping[str, float]]


class TuneModel:
    """
    The numbers of a robot.

    :param description: The description, for saving.
    :param robot: The maps with the numbers of the description.
    :param aliases: Types in the description to installed types.
    :ivar robot: The maps with the numbers in use.
    :ivar original: Those with the numbers of the description, offsets of calibration marks among
        them where these count.
    """

    def __init__(
        self,
        description: bytes,
        robot: RobotTransmissions,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.original = robot
        self.robot = robot
        self._description = description
        self._aliases = dict(aliases or {})
        self._described = {
            name: tunable
            for name, tunable in find_parameter_names(robot).tunables.items()
            if not tunable.is_flag
        }
        self._of: dict[str, list[str]] = {}
        for name, tunable in self._described.items():
            self._of.setdefault(tunable.transmission, []).append(name)
        self._binding = {binding.spec.name: binding for binding in robot.bindings}
        #: Of each joint with a transmission, which one.
        self._transmission = {
            member.name: binding.spec.name
            for binding in robot.bindings
            for member in (binding.spec.joints if binding.spec.type else ())
        }
        #: What differs from the description, ``None`` until it is asked for again.
        self._changed: dict[str, tuple[float, float]] | None = None
        self._done: list[_Step] = []
        self._undone: list[_Step] = []
        self._lost: dict[str, float] = {}
        #: By joint, where it was set on the page, and the positions of the actuators then.
        self._placed: dict[str, tuple[float, Array]] = {}

    # -- what there is ---------------------------------------------------------------------------

    def numbers(self, transmission: str) -> tuple[Number, ...]:
        """Return the numbers of a transmission, with the values in use."""
        return tuple(map(self.number, self._of.get(transmission, ())))

    def number(self, name: str) -> Number:
        """Return the number of a parameter, with the value in use."""
        tunable = self.robot.parameters[name.removeprefix(PREFIX)]
        unit = tunable.unit
        if unit == UNKNOWN_UNIT and tunable.path[0] == 'joints':
            unit = joint_unit(self.robot.robot, tunable.path[1])
        return Number(name, unit, tunable)

    def value(self, name: str) -> float:
        """Return the value in use of a parameter."""
        return self.robot.parameters[name.removeprefix(PREFIX)].value

    def described(self, name: str) -> float:
        """Return the value of a parameter in the description."""
        return self._described[name].value

    def changed(self) -> dict[str, tuple[float, float]]:
        """Return the numbers that differ from the description: those before and those in use."""
        if self._changed is None:
            self._changed = {
                name: (described.value, self.value(name))
                for name, described in self._described.items()
                if described.value != self.value(name)
            }
        return self._changed

    # -- changing --------------------------------------------------------------------------------

    def preview(self, values: Mapping[str, float], position: Array) -> Preview:
        """
        Return what a change would do at the present position.

        :param values: New values by parameter.
        :param position: Of the actuators at the motors [rad or m], NaN where unknown.
        """
        try:
            tuned = self.robot.with_parameters(strip_prefixes(values))
        except TransmissionBridgeError as error:
            return Preview(None, reason=str(error))
        with np.errstate(all='ignore'):
            before, after = (
                each.actuator_to_joint('position', position) for each in (self.robot, tuned)
            )
        shifts: list[Shift] = []
        turns: list[Turn] = []
        for name in dict.fromkeys(self._described[each].transmission for each in values):
            binding = self._binding[name]
            try:
                ratios = [_jacobian(each, binding, position) for each in (self.robot, tuned)]
            except Exception as error:  # a plugin's bug is a reason not to
                return Preview(None, reason=f'{type(error).__name__}: {error}')
            shifts += [
                Shift(self.robot.joint_names[place], float(before[place]), float(after[place]))
                for place in binding.all_joints
                if before[place] != after[place]
            ]
            turns += _turns(binding, *ratios)
        return Preview(tuned, tuple(shifts), tuple(turns))

    def accept(self, values: Mapping[str, float]) -> None:
        """
        Take over values that are in use now, whoever set them.

        :param values: By parameter; what is not a number of this robot is ignored.
        :raises TransmissionBridgeError: If they cannot be accepted.
        """
        ours = {name: value for name, value in values.items() if name in self._described}
        if any(self.value(name) != value for name, value in ours.items()):
            self.robot = self.robot.with_parameters(strip_prefixes(ours))
            self._changed = None

    def restart(self, values: Mapping[str, float]) -> None:
        """
        Take over the values of a bridge that has started again; :attr:`lost` has the others.

        :raises TransmissionBridgeError: If they cannot be accepted.
        """
        self._lost = {**{name: self.value(name) for name in self._described}, **self.lost}
        self.accept(values)
        self._lost = self.lost

    @property
    def lost(self) -> dict[str, float]:
        """Numbers that a bridge had before it started again, and has no longer."""
        return {name: was for name, was in self._lost.items() if self.value(name) != was}

    def forget_lost(self) -> None:
        """Leave the numbers of the bridge that has started again."""
        self._lost = {}

    def done(
        self,
        before: Mapping[str, float],
        after: Mapping[str, float],
        now: float,
        placed: Mapping[str, tuple[float, Array]] | None = None,
    ) -> None:
        """
        Note a change that was made on the page, as a step that undo takes back.

        :param before: The values that were in use.
        :param after: Those that took their place.
        :param now: Time [s].
        :param placed: Joints that it was to bring somewhere, as by :meth:`place`: by name the
            position and those of the actuators then, which :meth:`flip` keeps.
        """
        self._undone.clear()
        then, first, last = self._done[-1] if self._done else (-math.inf, {}, {})
        if now - then < _ONE_STEP and last.keys() == after.keys():
            before = first
            self._done.pop()
        self._done.append((now, dict(before), dict(after)))
        del self._done[:-_MOST_STEPS]
        self._placed.update(placed or {})

    def step(self, *, is_back: bool) -> Mapping[str, float]:
        """
        Return the values that take the last step back, or make one again that was taken back.

        :raises NotPossible: If there is none.
        """
        if not (self._done if is_back else self._undone):
            raise NotPossible('nothing to undo' if is_back else 'nothing to redo')
        return self._done[-1][1] if is_back else self._undone[-1][2]

    def stepped(self, *, is_back: bool) -> None:
        """Note that the values of :meth:`step` are set."""
        steps = [self._done, self._undone]
        steps[is_back].append(steps[not is_back].pop())

    # -- the ways people work --------------------------------------------------------------------

    def place(
        self, wanted: Mapping[str, float], actuators: Array, held: Mask, max_velocity: float
    ) -> dict[str, float]:
        """
        Return the offsets with which joints are read where they are known to be.

        :param wanted: Position by joint [rad or m]; zero for *Zero here*.
        :param actuators: Present positions, velocities, efforts at the motors in SI, shape
            ``(3, n_actuators)``.
        :param held: Which joints are commanded, shape ``(n_joints,)``.
        :param max_velocity: Speed above which a joint is moving [rad/s or m/s].
        :raises MessageError: As :func:`find_zero_offsets`.
        """
        changes = find_zero_offsets(
            self.robot, wanted, actuators, held=held, max_velocity=max_velocity
        )
        return {PREFIX + each.tunable.name: each.new for each in changes}

    def flip(self, joint: str, position: Array) -> dict[str, float]:
        """
        Return the change of sign with which a joint turns the other way.

        Of the reductions of its transmission, and of the row of a matrix, the one is taken whose
        sign reverses the joint by all of its actuators and changes least of the other joints; of
        equal ones that of the joint itself. Joints of the transmission that were set on the page
        keep their positions where they were set: with another offset.

        :param position: Of the actuators [rad or m], NaN where unknown.
        :raises NotPossible: If there is no such number.
        :raises MessageError: If no offset keeps those positions.
        """
        transmission = self._transmission.get(joint)
        if transmission is None:
            raise NotPossible(f'{joint} has no transmission')
        binding = self._binding[transmission]
        row = [member.name for member in binding.spec.joints].index(joint)
        ratios = np.abs(_jacobian(self.robot, binding, position))
        n_movers = np.count_nonzero(ratios[row] > _ROUNDING * np.nan_to_num(ratios).max())
        found: list[tuple[int, dict[str, float]]] = []
        for names in self._signs(transmission, joint, row):
            values = {name: -self.value(name) for name in names}
            turns = self.preview(values, position).turns
            own = [turn for turn in turns if turn.joint == joint]
            reverses = all(turn.before * turn.after < 0.0 for turn in own)
            if reverses and 0 < len(own) == n_movers:
                found.append((len(turns) - len(own), values))
        if not found:
            raise NotPossible('no reduction of its transmission does that by its sign')
        _, values = min(found, key=lambda each: each[0])
        return {**values, **self._kept(transmission, values)}

    def _signs(self, transmission: str, joint: str, row: int) -> list[list[str]]:
        """Return the numbers whose signs may be the wrong ones, likeliest first."""
        paths = {name: self._described[name].path for name in self._of.get(transmission, ())}
        reductions = [name for name, path in paths.items() if path[-1] == _REDUCTION]
        own = [name for name in reductions if paths[name][:2] == ('joints', joint)]
        entries = [
            name for name, path in paths.items() if path[:2] == ('matrix', f'joint{row + 1}')
        ]
        others = [name for name in reductions if name not in own]
        return [[name] for name in own] + ([entries] if entries else []) + [[n] for n in others]

    def _kept(self, transmission: str, values: Mapping[str, float]) -> dict[str, float]:
        """Return the offsets with which joints are read, after a change, where they were set."""
        tuned, kept = self.robot.with_parameters(strip_prefixes(values)), {}
        for joint, (wanted, position) in self._placed.items():
            if self._transmission.get(joint) != transmission:
                continue
            now = self.robot.actuator_to_joint('position', position)
            # Another number may have been changed since.
            if not abs(now[self.robot.joint_names.index(joint)] - wanted) <= _SAME:
                continue
            at_rest = np.vstack([position, np.zeros((2, len(position)))])
            nobody = np.zeros(len(now), dtype=bool)
            changes = find_zero_offsets(
                tuned, {joint: wanted}, at_rest, held=nobody, max_velocity=math.inf
            )
            kept.update({PREFIX + each.tunable.name: each.new for each in changes})
        return kept

    def as_described(self, transmission: str) -> dict[str, float]:
        """
        Return the numbers of a transmission as they are in the description.

        :raises NotPossible: If they are those already.
        """
        changed = self.changed()
        values = {name: changed[name][0] for name in self._of[transmission] if name in changed}
        if not values:
            raise NotPossible('the numbers are those of the URDF')
        return values

    # -- saving ----------------------------------------------------------------------------------

    def saved(self, output: str) -> Saved:
        """
        Return the file with the numbers in use.

        :param output: Its name: ``.yaml`` or ``.yml`` for a parameter file with the numbers that
            differ from the description, any other for the description with the numbers in it.
        :raises ParameterError: If a number cannot be written.
        """
        changed = self.changed()
        if not output.endswith(('.yaml', '.yml')):
            values = {name: after for name, (_, after) in changed.items()}
            data = export(self._description, values, self._aliases).data
            return Saved(data, _difference(self._description, data))
        entries = [
            (each.transmission, [(each.path, changed[name][1], f'{each.value!r} in the URDF')])
            for name in changed
            for each in [self._described[name]]
        ]
        heading = 'Numbers that differ from the description, by transmission_bridge tune.'
        data = parameters_yaml(entries, heading).encode()
        try:
            old = Path(output).read_bytes()
        except OSError:
            old = b''
        return Saved(data, _difference(old, data))


def _jacobian(robot: RobotTransmissions, binding: Binding, position: Array) -> Array:
    """Return the Jacobian of a transmission, at its motors."""
    at = position[list(binding.actuators)]
    if binding.transmission.is_constant:
        at = np.nan_to_num(at)
    # Passive joints, which follow the others, stand behind them.
    return np.asarray(robot.transmissions[binding.spec.name].jacobian(at))[: len(binding.joints)]


def _turns(binding: Binding, before: Array, after: Array) -> Iterable[Turn]:
    noise = _ROUNDING * max(np.nan_to_num(np.abs(each)).max() for each in (before, after))
    for row, joint in enumerate(binding.spec.joints):
        for column, actuator in enumerate(binding.spec.actuators):
            old, new = float(before[row, column]), float(after[row, column])
            if math.isfinite(old) and math.isfinite(new) and abs(new - old) > noise:
                yield Turn(joint.name, actuator.name, old, new)


def _difference(before: bytes, after: bytes) -> tuple[str, ...]:
    old, new = (each.decode('utf-8', 'replace').splitlines() for each in (before, after))
    return tuple(difflib.unified_diff(old, new, 'now', 'tuned', lineterm='', n=2))
