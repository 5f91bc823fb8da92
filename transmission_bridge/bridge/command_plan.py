# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""What a command means apart from its numbers: joints, coupled partners, actuators, messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transmission_bridge.bridge.inputs import as_slice, JointError, Stamp
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import closest, MessageError, shortened, shown
from transmission_bridge.messages.joint_state import (
    JointStateRecord,
    Layout,
    ragged,
)
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, EMPTY, Index, Mask

# -- Actuator commands as messages ---------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class MessageForm:
    """
    A message apart from its numbers.

    :param names: The actuators it names.
    :param places: Their indices.
    :param rows: Whether it holds positions, velocities, efforts; the others are empty arrays.
    """

    names: tuple[str, ...]
    places: Index | slice
    rows: tuple[bool, bool, bool]

    def record(self, sent: Array, stamp: Stamp) -> JointStateRecord:
        """Return the message with its numbers copied from ``sent``, shape ``(3, n_actuators)``."""
        position, velocity, effort = (
            sent[row, self.places].copy() if held else EMPTY for row, held in enumerate(self.rows)
        )
        return JointStateRecord(stamp, '', self.names, position, velocity, effort)


def actuator_messages(
    names: tuple[str, ...], sent: Array, stamp: Stamp, options: BridgeOptions
) -> list[JointStateRecord]:
    """
    Return messages that name only actuators with a command.

    :param names: All actuators.
    :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, NaN: no command.
    :param options: The choices of the user.
    """
    forms = message_forms(names, ~np.isnan(sent), options)
    return [form.record(sent, stamp) for form in forms]


def message_forms(
    names: tuple[str, ...], given: Mask, options: BridgeOptions
) -> tuple[MessageForm, ...]:
    """
    Return the forms of the messages for a command.

    :param names: All actuators.
    :param given: Which have a command, rows position, velocity, effort.
    :param options: With ``mixed_commands: nan`` actuators commanded in different modes share one
        message, with NaN where one has no command, instead of one message per interface.
    """
    rows: Mask = np.any(given, axis=1)
    if not rows.any():
        return ()
    if options.mixed_commands == 'nan' or not is_mixed(given):
        return (_form(names, np.any(given, axis=0), rows),)
    return tuple(
        _form(names, given[row], np.arange(len(FIELDS)) == row) for row in np.flatnonzero(rows)
    )


def is_mixed(given: Mask) -> bool:
    """Return whether a command, shape ``(3, n)``, has more than one mode."""
    modes = given[:, given.any(axis=0)]
    return not bool((modes == modes[:, :1]).all())


def _form(names: tuple[str, ...], actuators: Mask, rows: Mask) -> MessageForm:
    places = np.flatnonzero(actuators)
    position, velocity, effort = (bool(held) for held in rows)
    names_all = len(places) == len(names)
    return MessageForm(
        tuple(names[place] for place in places),
        slice(None) if names_all else places,
        (position, velocity, effort),
    )


# -- Coupled joints: a command to some of them is completed, or refused --------------------------


@dataclass(frozen=True, slots=True)
class CoupledJoints:
    """
    Joints that share actuators, so that none can be commanded without the others.

    :param joints: Their indices.
    :param underactuated: ``J`` and joint offset where fewer actuators than joints drive them (a
        finger) with a constant ratio: the other joints follow the commanded ones.
    :param can_hold: Whether there are enough actuators for one joint to hold while another moves.
    """

    transmission: str
    joints: Index
    names: tuple[str, ...]
    underactuated: tuple[Array, Array] | None = None
    can_hold: bool = True

    def complete(
        self, command: Array, held: Array, measured_position: Array, partial: str
    ) -> None:
        """
        Fill in the joints that a partial command leaves out, in place.

        A joint that is not commanded holds its last command, or has velocity or effort zero;
        without a position command it holds its measured position. Where there are fewer actuators
        than joints it follows instead, as the actuators are solved for the commanded joints alone;
        if the ratio depends on position as well, the command is refused. A command to none or all
        of the joints is left as it is.

        :param command: The command, shape ``(3, n_joints)``, NaN: no command.
        :param held: Last commands, same shape, NaN where there is none of that mode.
        :param measured_position: Shape ``(n_joints,)``, NaN where unknown.
        :param partial: ``hold``, ``zero`` or ``reject``.
        :raises JointError: If the command is partial and cannot be completed (``partial``), or
            commands the joints in different modes (``mixed_coupled``).
        """
        mine = command[:, self.joints]
        given = ~np.isnan(mine)
        commanded: Mask = np.any(given, axis=0)
        if not commanded.any() or given.all():
            return
        modes = given[:, commanded]
        everyone: Mask = np.zeros(command.shape[1], dtype=bool)
        everyone[self.joints] = True
        if not (modes == modes[:, :1]).all():
            raise JointError(
                'mixed_coupled',
                f'{", ".join(self.names)} are coupled by {self.transmission} and were commanded '
                'in different modes; command them in the same',
                everyone,
            )
        missing = ~commanded
        if not missing.any():
            return
        if self.underactuated is not None:
            for field in np.flatnonzero(modes[:, 0]).tolist():
                command[field, self.joints] = self._followed(
                    field, mine[field], commanded, *self.underactuated
                )
            return
        names = ', '.join(self.names[place] for place in np.flatnonzero(missing))
        coupled = f'for {names}, coupled by {self.transmission} to a joint that was commanded'
        if partial == 'reject':
            reason = f'no command {coupled} (partial_commands is reject)'
            raise JointError('partial', reason, everyone)
        if not self.can_hold:
            reason = f'no command {coupled}, and it has too few actuators to hold them'
            raise JointError('partial', reason, everyone)
        for field in np.flatnonzero(modes[:, 0]).tolist():
            filler = held[field, self.joints]
            if field > 0 and partial == 'zero':
                filler = np.zeros(len(self.joints))
            elif field == 0:
                filler = np.where(np.isnan(filler), measured_position[self.joints], filler)
            if np.isnan(filler[missing]).any():
                reason = f'no {FIELDS[field]} command {coupled}, and nothing to hold'
                raise JointError('partial', reason, everyone)
            command[field, self.joints[missing]] = filler[missing]

    def keep_partners(self, ending: Array, held: Array) -> None:
        """
        Keep the commands of the partners of joints whose rates end, in place.

        A partner without a command of that mode gets zero. If there are too few actuators for one
        joint to move alone, all joints end.

        :param ending: The zeros that end rates, shape ``(3, n_joints)``, NaN elsewhere.
        :param held: Commands held, same shape.
        """
        mine = ending[:, self.joints]
        for field in np.flatnonzero(~np.isnan(mine).all(axis=1)):
            kept = np.nan_to_num(held[field, self.joints]) * self.can_hold
            ending[field, self.joints] = np.where(np.isnan(mine[field]), kept, mine[field])

    def follow(self, velocities: Array) -> None:
        """Set joints that fewer actuators drive to the velocities that these give them."""
        assert self.underactuated is not None
        jacobian = self.underactuated[0]
        own = velocities[..., self.joints]
        velocities[..., self.joints] = own @ (jacobian @ np.linalg.pinv(jacobian)).T

    def _followed(
        self, field: int, values: Array, commanded: Mask, jacobian: Array, offset: Array
    ) -> Array:
        """
        Return the command of all joints when the actuators are solved for the commanded ones.

        ``a = J_S^+ (q_S - off_S)``, so ``q = J a + off`` for all; likewise for velocity without
        the offset. Effort of a joint that was not commanded is zero: ``tau_a = J_S^T tau_S``.
        """
        if FIELDS[field] == 'effort':
            return np.where(commanded, values, 0.0)
        bias = offset if FIELDS[field] == 'position' else np.zeros(len(offset))
        actuators = np.linalg.pinv(jacobian[commanded]) @ (values - bias)[commanded]
        followed: Array = jacobian @ actuators + bias
        return followed


def coupled_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
    """Return the groups of joints that one transmission moves together."""
    zeros = np.zeros(len(robot.actuator_names))
    # Through the robot, which catches the errors of plugins.
    jacobian = robot.jacobian(zeros)
    offset = robot.actuator_to_joint('position', zeros)
    return tuple(
        CoupledJoints(
            binding.spec.name,
            np.array(binding.joints, dtype=np.intp),
            tuple(member.name for member in binding.spec.joints),
            _underactuated(binding, jacobian, offset),
            len(binding.actuators) >= len(binding.joints),
        )
        for binding in robot.bindings
        if len(binding.joints) > 1
    )


def _underactuated(binding: Binding, jacobian: Array, offset: Array) -> tuple[Array, Array] | None:
    if len(binding.actuators) >= len(binding.joints) or not binding.transmission.is_constant:
        return None
    own = jacobian[np.ix_(binding.joints, binding.actuators)], offset[list(binding.joints)]
    return own if all(np.isfinite(each).all() for each in own) else None


# -- Patterns of given values --------------------------------------------------------------------
#
# Controllers command the same joints in the same modes over and over. Which coupled joints are
# left out, which actuators are commanded and by which messages follows from that alone.


#: Patterns kept; more than the combinations that controllers use in practice.
PATTERNS = 64


@dataclass(frozen=True, eq=False, slots=True)
class CommandPattern:
    """
    What follows from which values of a command are given.

    :param is_mixed: Whether joints are commanded in different modes.
    :param has_positions: Whether some joint is commanded a position.
    :param positions: Which joints are, those of the completed groups too, as the bytes of a
        boolean array.
    :param has_rates: Whether some joint is commanded a velocity or an effort.
    :param partial: Coupled joints of which only some are commanded, or not all in one mode.
    :param given: Indices of the joints that the message commands.
    :param following: Indices of joints that have to follow those, for want of actuators; ``None``:
        none.
    :param joints: Joints that are commanded once the partial groups are completed.
    :param actuators: Actuators that are commanded then.
    :param result: Which numbers of the result, shape ``(3, n_actuators)``, have to be finite, as
        the bytes of a boolean array.
    :param messages: The messages to the actuators.
    """

    is_mixed: bool
    has_positions: bool
    positions: bytes
    has_rates: bool
    partial: tuple[CoupledJoints, ...]
    given: Index
    following: Index | None
    joints: Mask
    actuators: Mask
    result: bytes
    messages: tuple[MessageForm, ...]

    def records(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        """Return the messages with the numbers of ``sent``, shape ``(3, n_actuators)``."""
        return [form.record(sent, stamp) for form in self.messages]


class CommandPatterns:
    """
    The patterns of a robot.

    :param options: The choices of the user.
    :ivar groups: The joints that cannot be commanded without others.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._robot = robot
        self._options = options
        self.groups = coupled_joints(robot)
        self._pattern_of = lru_cache(maxsize=PATTERNS)(self._make)

    def get(self, given: Mask) -> CommandPattern:
        """
        Return the pattern of a command.

        :param given: Which values are given, rows position, velocity, effort, shape
            ``(3, n_joints)``.
        """
        return self._pattern_of(given.tobytes())

    def _make(self, key: bytes) -> CommandPattern:
        given: Mask = np.frombuffer(key, dtype=bool).reshape(len(FIELDS), -1)
        complete = given.copy()
        partial = []
        for group in self.groups:
            mine: Mask = given[:, group.joints]
            commanded: Mask = np.any(mine, axis=1)
            if not mine[commanded].all():
                partial.append(group)
                complete[:, group.joints] = commanded[:, np.newaxis]
        result = self._robot.actuators_of(complete)
        following = [
            joint
            for group in partial
            for joint in group.joints
            if not group.can_hold and not given[:, joint].any()
        ]
        return CommandPattern(
            is_mixed=is_mixed(given),
            has_positions=bool(given[0].any()),
            positions=complete[0].tobytes(),
            has_rates=bool(given[1:].any()),
            partial=tuple(partial),
            given=np.flatnonzero(given.any(axis=0)),
            following=np.array(following, dtype=np.intp) if following else None,
            joints=np.any(complete, axis=0),
            actuators=np.any(result, axis=0),
            result=result.tobytes(),
            messages=message_forms(self._robot.actuator_names, result, self._options),
        )


def owned_actuators(binding: Binding) -> Index:
    """Return the indices of the actuators that are commanded through a transmission."""
    actuators: Index = np.array(binding.actuators, dtype=np.intp)[np.array(binding.owned)]
    return actuators


# -- Names in joint commands ---------------------------------------------------------------------
#
# ros2_control's topic-based hardware names every joint in ``name`` but fills each array only for
# the joints that declare the command interface, so that its arrays are shorter than, and
# misaligned with, the names. Such a message is read by the declarations where they are
# unambiguous.


#: Unknown names of a message for which the closest known ones are suggested.
_MOST_SOUGHT = 3


@dataclass(frozen=True, slots=True)
class CommandNames:
    """
    The joint names that commands may use.

    :param nothing: A command to no joint, shape ``(3, n_joints)``; to be copied, not changed.
    :param commandable: Index of each joint that may be commanded.
    :param barred: Joints that exist but must not be commanded, with the reason.
    :param declared: By interface, the joints of ``<ros2_control>`` blocks that declare it as a
        command interface.
    """

    nothing: Array
    commandable: Mapping[str, int]
    barred: Mapping[str, str]
    declared: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Field:
    """One array of a message for names: ``command[places] = values[picks]``, NaN at ``barred``."""

    names: tuple[str, ...]
    places: Index | slice
    picks: Index | None
    barred: Index


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """
    How messages of one layout are read.

    :param fields: One entry per array, ``None`` where the array is empty.
    :param nothing: A command to no joint, shape ``(3, n_joints)``; must not be changed.
    """

    reasons: Mapping[str, str]
    fields: tuple[_Field | None, ...]
    nothing: Array

    def read(self, data: JointStateRecord, rejected: list[tuple[str, str]] | None = None) -> Array:
        """
        Return rows position, velocity, effort, shape ``(3, n_joints)``, NaN: no command.

        :param rejected: Receives name, as for a sentence, and reason of joints that hold a value
            though they may not be commanded; ``None``: these are an error.
        :raises MessageError: If there is such a joint, then (``not_commandable``).
        """
        command: Array = self.nothing.copy()
        for row, field in enumerate(self.fields):
            if field is None:
                continue
            values = (data.position, data.velocity, data.effort)[row]
            command[row, field.places] = values if field.picks is None else values[field.picks]
            if len(field.barred) and not np.isnan(values[field.barred]).all():
                names = [field.names[p] for p in field.barred[~np.isnan(values[field.barred])]]
                if rejected is None:
                    sentences = [f'{name} ({self.reasons[name]})' for name in names]
                    raise MessageError(
                        'not_commandable',
                        f'{FIELDS[row]} command for {shortened(sentences, show=str)}',
                    )
                rejected += [
                    (name, 'not_commandable')
                    if name in self.reasons
                    else (shown(name), 'unknown_joint')
                    for name in names
                ]
        return command


def plan_command(
    layout: Layout, known: CommandNames, *, may_be_unknown: bool = False
) -> CommandPlan:
    """
    Return how messages of a layout are read.

    :param may_be_unknown: Whether names of no joint of the robot are read as joints that may not
        be commanded.
    :raises MessageError: As :func:`check_names`, or if an array fits neither the names nor the
        declarations (``ragged``).
    """
    check_names(layout.names, None if may_be_unknown else known)
    fields = tuple(
        _field(layout, interface, length, known) if length else None
        for interface, length in zip(FIELDS, layout.lengths, strict=True)
    )
    return CommandPlan(known.barred, fields, known.nothing)


def check_names(names: Sequence[str], known: CommandNames | None) -> None:
    """
    Check the joint names of a command.

    :param known: The names that there are; ``None``: any.
    :raises MessageError: If the robot has no such joint (``unknown_joint``), or a name is repeated
        (``duplicate_name``).
    """
    unknown = [
        name
        for name in names
        if known and name not in known.commandable and name not in known.barred
    ]
    if known and unknown:
        sought = [f'{shown(n)}{closest(n, known.commandable)}' for n in unknown[:_MOST_SOUGHT]]
        more = len(unknown) - len(sought)
        raise MessageError(
            'unknown_joint',
            f'the robot has no joint {", ".join(sought)}{f" and {more} more" if more else ""}; '
            'nothing was moved',
            about=shortened(unknown, _MOST_SOUGHT),
        )
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        raise MessageError('duplicate_name', f'given more than once: {shortened(repeated)}')


def _field(layout: Layout, interface: str, length: int, known: CommandNames) -> _Field:
    named = layout.names
    if length != len(named):
        named = tuple(n for n in layout.names if n in known.declared.get(interface, ()))
        # Of a joint that is not known here, nobody knows whether it has a value in the array.
        unknown = [n for n in layout.names if n not in known.commandable and n not in known.barred]
        if length != len(named) or unknown:
            otherwise = ''
            if 0 < len(named) < len(layout.names):
                otherwise = (
                    f'; or one for each joint that declares the {interface} command interface '
                    f'({shortened(named)})'
                )
            if unknown:
                otherwise += (
                    f'. The robot has no joint {shortened(unknown)}: the sender has another '
                    'description'
                )
            raise ragged(layout.names, {interface: length}, otherwise=otherwise)
    commandable = [pick for pick, name in enumerate(named) if name in known.commandable]
    return _Field(
        named,
        as_slice([known.commandable[named[pick]] for pick in commandable]),
        None if len(commandable) == len(named) else np.array(commandable, dtype=np.intp),
        np.array(
            [p for p, name in enumerate(named) if name not in known.commandable], dtype=np.intp
        ),
    )


def array_command(
    interface: str, names: Sequence[str], values: Array, known: CommandNames
) -> Array:
    """
    Return the command in a plain array of one interface.

    A wrong size or any value that is not finite refuses the whole array, as in ros2_control's
    forward_command_controller.

    :param interface: ``position``, ``velocity`` or ``effort``.
    :param names: The joints that the values are for, each commandable.
    :param values: One per joint.
    :returns: As of :meth:`CommandPlan.read`.
    :raises MessageError: If there are more or fewer values (``size``), or one is NaN or infinite
        (``not_finite``).
    """
    if len(values) != len(names):
        raise MessageError('size', f'expected {len(names)} values, found {len(values)}')
    finite = np.isfinite(values)
    if not finite.all():
        wrong = [name for name, is_finite in zip(names, finite, strict=True) if not is_finite]
        raise MessageError('not_finite', f'no finite {interface} for {shortened(wrong)}')
    command: Array = known.nothing.copy()
    command[FIELDS.index(interface), [known.commandable[name] for name in names]] = values
    return command


def command_names(robot: RobotTransmissions) -> CommandNames:
    """Return the joint names that commands to a robot may use."""
    reading = {
        member.name: 'its transmission only reads'
        for binding in robot.bindings
        for member in binding.spec.joints
        if not all(binding.owned)
        or any(member.read_only for member in (*binding.spec.joints, *binding.spec.actuators))
        # A block without any interface does not tell whether its joints are only measured.
        or (
            not binding.spec.can_command
            and any(
                each.command_interfaces or each.state_interfaces for each in binding.spec.joints
            )
        )
    }
    reading |= {
        robot.joint_names[place]: f"passive, it is moved by transmission '{binding.spec.name}'"
        for binding in robot.bindings
        for place in binding.passive
    }
    lost = {name: f'not bridged, {reason}' for name, reason in robot.lost_joints.items()}
    barred = dict(reading)
    for joint in robot.robot.joints:
        if joint.name not in robot.joint_names:
            barred[joint.name] = (
                f'it follows {joint.mimic.joint}'
                if joint.mimic is not None
                else lost.get(joint.name, 'not bridged')
            )
    components = [
        component
        for block in robot.robot.blocks
        for component in block.components
        if component.kind == 'joint'
    ]
    for component in components:
        if component.name not in robot.joint_names:
            barred.setdefault(component.name, lost.get(component.name, 'not bridged'))
    declared = {
        interface: frozenset(
            component.name
            for component in components
            if any(each.name == interface for each in component.command_interfaces)
        )
        for interface in FIELDS
    }
    return CommandNames(
        np.full((len(FIELDS), len(robot.joint_names)), np.nan),
        {name: joint for joint, name in enumerate(robot.joint_names) if name not in reading},
        barred,
        declared,
    )
