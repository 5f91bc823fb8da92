# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What the page works on, without page and without ROS: numbers, previews, proposals, undo, saving.

Nothing here changes anything but its own copy of the robot: who applies the values of a proposal
reports them to :meth:`TuneModel.accept`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import difflib
import itertools
import math
from pathlib import Path

import numpy as np

from transmission_bridge.bridge.options import (
    find_parameter_names,
    PREFIX,
    strip_prefixes,
)
from transmission_bridge.bridge.zeroing import find_zero_offsets, find_zeroable_joints
from transmission_bridge.errors import (
    shortened,
    TransmissionBridgeError,
)
from transmission_bridge.tools.export import export
from transmission_bridge.tools.files import write_output
from transmission_bridge.tools.parameter_files import parameters_yaml
from transmission_bridge.tools.units import joint_unit, UNKNOWN_UNIT
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.tunable import ParameterPath, Tunable
from transmission_bridge.types import Array, Mask

__all__ = ['Number', 'Preview', 'Proposal', 'Saved', 'Shift', 'TuneModel', 'Turn']

#: Seconds in which changes of the same numbers are one step of undo: a slider that is dragged.
_ONE_STEP = 1.0

#: Steps of undo that are kept.
_MOST_STEPS = 1000

#: Share of the largest entry of a Jacobian below which one is rounding.
_ROUNDING = 1e-9

_REDUCTION = 'mechanical_reduction'


@dataclass(frozen=True, slots=True)
class Number:
    """
    A number of a transmission.

    :param name: Name of its parameter.
    :param unit: Empty for a pure number.
    :param tunable: Its description, range and value in use; the default is that of the URDF.
    """

    name: str
    transmission: str
    unit: str
    tunable: Tunable

    @property
    def path(self) -> ParameterPath:
        """Where it stands below the transmission."""
        return self.tunable.path


@dataclass(frozen=True, slots=True)
class Shift:
    """The position of a joint, as read before and after a change [rad or m]."""

    joint: str
    before: float
    after: float

    @property
    def amount(self) -> float:
        """By how much it changes."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Turn:
    """Motion of a joint per unit of an actuator, before and after a change."""

    joint: str
    actuator: str
    before: float
    after: float

    @property
    def is_reversed(self) -> bool:
        """Whether the sense changes."""
        return self.before * self.after < 0.0


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


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    A change that is asked for before it is made.

    :param title: What it is.
    :param values: The new values by parameter.
    :param reason: Why it cannot be made, empty where it can; then there are no values.
    """

    title: str
    values: Mapping[str, float]
    reason: str = ''


@dataclass(frozen=True, slots=True)
class Saved:
    """
    A file to be written.

    :param data: Its content.
    :param lines: Its difference from what is used now, line by line, as ``diff -u`` has it.
    """

    data: bytes
    lines: tuple[str, ...]


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
        #: What differs from the description, ``None`` until it is asked for again.
        self._changed: dict[str, tuple[float, float]] | None = None
        self._binding = {binding.spec.name: binding for binding in robot.bindings}
        self._done: list[tuple[float, dict[str, float], dict[str, float]]] = []
        self._undone: list[tuple[float, dict[str, float], dict[str, float]]] = []

    # -- what there is ---------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of all numbers."""
        return tuple(self._described)

    def binding(self, transmission: str) -> Binding:
        """Return a transmission with its members."""
        return self._binding[transmission]

    def transmission_of(self, joint: str) -> str:
        """Return the transmission of a joint, empty where there is none."""
        for name in self.robot.transmissions:
            if any(member.name == joint for member in self._binding[name].spec.joints):
                return name
        return ''

    def numbers(self, transmission: str) -> tuple[Number, ...]:
        """Return the numbers of a transmission, with the values in use."""
        return tuple(
            Number(name, transmission, self._unit(tunable), tunable)
            for name in self._of.get(transmission, ())
            for tunable in [self._tunable(name)]
        )

    def _tunable(self, name: str) -> Tunable:
        return self.robot.parameters[name.removeprefix(PREFIX)]

    def _unit(self, tunable: Tunable) -> str:
        unit = tunable.unit
        if unit == UNKNOWN_UNIT and tunable.path[0] == 'joints':
            return joint_unit(self.robot.robot, tunable.path[1])
        return unit

    def place_of(self, name: str) -> str:
        """Return the transmission that a parameter belongs to."""
        return self._described[name].transmission

    def value(self, name: str) -> float:
        """Return the value in use of a parameter."""
        return self._tunable(name).value

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
        for name in dict.fromkeys(map(self.place_of, values)):
            binding = self._binding[name]
            try:
                ratios = [_jacobian(each, binding, position) for each in (self.robot, tuned)]
            except Exception as error:  # a plugin's bug is a reason not to
                return Preview(None, reason=f'{type(error).__name__}: {error}')
            shifts += [
                Shift(joint, was, will)
                for place, joint in zip(binding.all_joints, names_of(binding), strict=True)
                for was, will in [(float(before[place]), float(after[place]))]
                if was != will
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

    def done(self, before: Mapping[str, float], after: Mapping[str, float], now: float) -> None:
        """
        Note a change that was made on the page, as a step that undo takes back.

        :param before: The values that were in use.
        :param after: Those that took their place.
        :param now: Time [s].
        """
        self._undone.clear()
        last = self._done[-1] if self._done else None
        if last is not None and last[2].keys() == after.keys() and now - last[0] < _ONE_STEP:
            before = last[1]
            self._done.pop()
        self._done.append((now, dict(before), dict(after)))
        del self._done[:-_MOST_STEPS]

    def undo(self) -> Proposal:
        """Return the change that takes the last step back; :meth:`undone` when it is made."""
        if not self._done:
            return Proposal('Undo', {}, 'nothing to undo')
        return Proposal('Undo', self._done[-1][1])

    def redo(self) -> Proposal:
        """Return the change that was taken back last; :meth:`redone` when it is made."""
        if not self._undone:
            return Proposal('Redo', {}, 'nothing to redo')
        return Proposal('Redo', self._undone[-1][2])

    def undone(self) -> None:
        """Note that the last step was taken back."""
        self._undone.append(self._done.pop())

    def redone(self) -> None:
        """Note that a step was made again."""
        self._done.append(self._undone.pop())

    # -- the ways people work --------------------------------------------------------------------

    def joints_with_offset(self) -> tuple[str, ...]:
        """Return the joints whose position can be set by an offset."""
        return find_zeroable_joints(self.robot)

    def place(
        self, wanted: Mapping[str, float], actuators: Array, held: Mask, max_velocity: float
    ) -> Proposal:
        """
        Return the offsets with which joints are read where they are known to be.

        :param wanted: Position by joint [rad or m]; zero for *Zero here*.
        :param actuators: Present positions, velocities, efforts at the motors in SI, shape
            ``(3, n_actuators)``.
        :param held: Which joints are commanded, shape ``(n_joints,)``.
        :param max_velocity: Speed above which a joint is moving [rad/s or m/s].
        """
        title = f'Set where {shortened(list(wanted), show=str)} is'
        try:
            changes = find_zero_offsets(
                self.robot, wanted, actuators, held=held, max_velocity=max_velocity
            )
        except TransmissionBridgeError as error:
            return Proposal(title, {}, str(error))
        return Proposal(title, {PREFIX + each.tunable.name: each.new for each in changes})

    def flip(self, joint: str, position: Array) -> Proposal:
        """
        Return the change of sign with which a joint turns the other way.

        Of the reductions of its transmission, and of the row of a matrix, the one is taken whose
        sign reverses the joint by all of its actuators and changes least of the other joints; of
        equal ones that of the joint itself.

        :param position: Of the actuators [rad or m], NaN where unknown.
        """
        title = f'Turn {joint} the other way'
        transmission = self.transmission_of(joint)
        if not transmission:
            return Proposal(title, {}, f'{joint} has no transmission')
        row = [m.name for m in self._binding[transmission].spec.joints].index(joint)
        best: tuple[int, dict[str, float]] | None = None
        for names in self._signs(transmission, joint, row):
            values = {name: -self.value(name) for name in names}
            preview = self.preview(values, position)
            if preview.robot is None or not self._reverses(transmission, joint, preview, position):
                continue
            others = sum(turn.joint != joint for turn in preview.turns)
            if best is None or others < best[0]:
                best = others, values
        if best is None:
            reason = 'no reduction of its transmission does that by its sign'
            return Proposal(title, {}, reason)
        return Proposal(title, best[1])

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

    def _reverses(self, transmission: str, joint: str, preview: Preview, position: Array) -> bool:
        """Return whether a joint is moved the other way by each actuator that moves it."""
        binding = self._binding[transmission]
        row = [member.name for member in binding.spec.joints].index(joint)
        before = _jacobian(self.robot, binding, position)
        moves = np.abs(before[row]) > _ROUNDING * np.nan_to_num(np.abs(before)).max()
        turned = {turn.actuator for turn in preview.turns if turn.joint == joint}
        reversed_by = {
            turn.actuator for turn in preview.turns if turn.joint == joint and turn.is_reversed
        }
        by = {
            member.name
            for member, does in zip(binding.spec.actuators, moves.tolist(), strict=True)
            if does
        }
        return bool(by) and by == reversed_by == turned

    def as_described(self, transmission: str) -> Proposal:
        """Return the numbers of a transmission as they are in the description."""
        values = {
            name: before
            for name, (before, _) in self.changed().items()
            if self.place_of(name) == transmission
        }
        reason = '' if values else 'the numbers are those of the URDF'
        return Proposal(f'{transmission} as in the URDF', values, reason)

    # -- saving ----------------------------------------------------------------------------------

    def saved(self, output: str) -> Saved:
        """
        Return the file with the numbers in use.

        :param output: Its name: ``.yaml`` or ``.yml`` for a parameter file with the numbers that
            differ from the description, any other for the description with the numbers in it.
        :raises ParameterError: If a number cannot be written.
        """
        if output.endswith(('.yaml', '.yml')):
            data = self._parameter_file().encode()
            return Saved(data, _difference(_old_content(output), data))
        values = {name: after for name, (_, after) in self.changed().items()}
        data = export(self._description, values, self._aliases).data
        return Saved(data, _difference(self._description, data))

    def _parameter_file(self) -> str:
        changed = self.changed()
        entries = [
            (
                transmission,
                [
                    (path, changed[name][1], f'{changed[name][0]!r} in the URDF')
                    for name, path in group
                    if name in changed
                ],
            )
            for transmission, names in self._of.items()
            for group in [[(name, self._described[name].path) for name in names]]
        ]
        heading = 'Numbers that differ from the description, by transmission_bridge tune.'
        return parameters_yaml(entries, heading)

    def write(self, output: str, saved: Saved, *, force: bool) -> None:
        """
        Write a file, whole or not at all.

        :param force: Whether it may replace one that is there.
        :raises UsageError: If it cannot be written, or is there.
        """
        write_output(output, saved.data, force=force)


def names_of(binding: Binding) -> tuple[str, ...]:
    """Return the joints that a transmission moves, in the order of :attr:`Binding.all_joints`."""
    joints = tuple(member.name for member in binding.spec.joints)
    return (*joints, *binding.transmission.passive_joints)


def _jacobian(robot: RobotTransmissions, binding: Binding, position: Array) -> Array:
    """Return the Jacobian of a transmission, at its motors."""
    at = position[list(binding.actuators)]
    if binding.transmission.is_constant:
        at = np.nan_to_num(at)
    # Passive joints, which follow the others, stand behind them.
    return np.asarray(robot.transmissions[binding.spec.name].jacobian(at))[: len(binding.joints)]


def _turns(binding: Binding, before: Array, after: Array) -> list[Turn]:
    noise = _ROUNDING * max(np.nan_to_num(np.abs(each)).max() for each in (before, after))
    joints = [member.name for member in binding.spec.joints]
    actuators = [member.name for member in binding.spec.actuators]
    turns = []
    for (row, joint), (column, actuator) in itertools.product(
        enumerate(joints), enumerate(actuators)
    ):
        old, new = float(before[row, column]), float(after[row, column])
        if abs(new - old) > noise and math.isfinite(old) and math.isfinite(new):
            turns.append(Turn(joint, actuator, old, new))
    return turns


def _old_content(output: str) -> bytes:
    try:
        return Path(output).read_bytes()
    except OSError:
        return b''


def _difference(before: bytes, after: bytes) -> tuple[str, ...]:
    old, new = (each.decode('utf-8', 'replace').splitlines() for each in (before, after))
    return tuple(difflib.unified_diff(old, new, 'now', 'tuned', lineterm='', n=2))
