# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The structure of a command, without its numbers: joints, partners, actuators, messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transmission_bridge.bridge.inputs import as_slice, JointRejection, Stamp
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.errors import closest, MessageError, shortened, shown
from transmission_bridge.messages.joint_state import (
    JointStateRecord,
    Layout,
    make_ragged_error,
)
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import FIELDS
from transmission_bridge.types import Array, EMPTY, Index, Mask

# -- Actuator commands as messages ---------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class MessageForm:
    """
    A message to actuators, without its numbers.

    :param places: Indices of the actuators.
    :param rows: Whether it holds positions, velocities, efforts; other arrays are empty.
    """

    names: tuple[str, ...]
    places: Index | slice
    rows: tuple[bool, bool, bool]

    def make_record(self, sent: Array, stamp: Stamp) -> JointStateRecord:
        """Return the message with its numbers copied from ``sent``, shape ``(3, n_actuators)``."""
        position, velocity, effort = (
            sent[row, self.places].copy() if held else EMPTY for row, held in enumerate(self.rows)
        )
        return JointStateRecord(stamp, '', self.names, position, velocity, effort)


def make_actuator_messages(
    names: tuple[str, ...], sent: Array, stamp: Stamp, options: BridgeOptions
) -> list[JointStateRecord]:
    """
    Return messages that name only actuators with a command.

    :param names: All actuators.
    :param sent: Rows position, velocity, effort, shape ``(3, n_actuators)``, NaN: no command.
    """
    forms = find_message_forms(names, ~np.isnan(sent), options)
    return [form.make_record(sent, stamp) for form in forms]


def find_message_forms(
    names: tuple[str, ...], given: Mask, options: BridgeOptions
) -> tuple[MessageForm, ...]:
    """
    Return the forms of the messages for a command.

    :param names: All actuators.
    :param given: Mask of the commands, rows position, velocity, effort.
    :param options: With ``mixed_commands: nan`` actuators commanded in different modes share one
        message, and NaN means no command; otherwise each interface has a message.
    """
    rows: Mask = np.any(given, axis=1)
    if not rows.any():
        return ()
    if options.mixed_commands == 'nan' or not is_mixed(given):
        return (_make_form(names, np.any(given, axis=0), rows),)
    return tuple(
        _make_form(names, given[row], np.arange(len(FIELDS)) == row)
        for row in np.flatnonzero(rows)
    )


def is_mixed(given: Mask) -> bool:
    """Return whether a command, shape ``(3, n)``, has more than one mode."""
    modes = given[:, given.any(axis=0)]
    return not bool((modes == modes[:, :1]).all())


def _make_form(names: tuple[str, ...], actuators: Mask, rows: Mask) -> MessageForm:
    places = np.flatnonzero(actuators)
    position, velocity, effort = (bool(held) for held in rows)
    names_all = len(places) == len(names)
    return MessageForm(
        tuple(names[place] for place in places),
        slice(None) if names_all else places,
        (position, velocity, effort),
    )


# -- Coupled joints: a command to some of them is completed or rejected --------------------------


@dataclass(frozen=True, slots=True)
class CoupledJoints:
    """
    Joints that share actuators, so that no joint can be commanded without the others.

    :param joints: Their indices.
    :param underactuated: ``J`` and joint offset if fewer actuators than joints drive them (a
        finger) with a constant ratio: the other joints follow the commanded ones.
    :param can_hold: Whether there are enough actuators for one joint to hold while another moves.
    """

    binding: Binding
    joints: Index
    names: tuple[str, ...]
    underactuated: tuple[Array, Array] | None = None
    can_hold: bool = True

    def complete_command(
        self, command: Array, held: Array, measured_position: Array, partial: str
    ) -> None:
        """
        Fill in the joints that a partial command leaves out, in place.

        A joint without a command holds its last command of that mode; with ``zero`` its velocity
        and effort become zero. Without a last position it holds its measured position. With fewer
        actuators than joints it follows: the actuators are solved for the commanded joints alone.
        If their ratio also depends on position, the command is rejected. A command to all joints,
        or to no joint, is not changed.

        :param command: Shape ``(3, n_joints)``, NaN: no command.
        :param held: Last commands, same shape, NaN: no command of that mode.
        :param measured_position: Shape ``(n_joints,)``, NaN: unknown.
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
            raise JointRejection(
                'mixed_coupled',
                f'{", ".join(self.names)} are coupled by {self.binding.spec.name} and were '
                'commanded in different modes; command them in the same',
                everyone,
            )
        missing = ~commanded
        if not missing.any():
            return
        if self.underactuated is not None:
            for field in np.flatnonzero(modes[:, 0]).tolist():
                command[field, self.joints] = self._solve_underactuated(
                    field, mine[field], commanded, *self.underactuated
                )
            return
        names = ', '.join(self.names[place] for place in np.flatnonzero(missing))
        coupled = f'for {names}, coupled by {self.binding.spec.name} to a joint that was commanded'
        if partial == 'reject':
            reason = f'no command {coupled} (partial_commands is reject)'
            raise JointRejection('partial', reason, everyone)
        if not self.can_hold:
            reason = f'no command {coupled}, and it has too few actuators to hold them'
            raise JointRejection('partial', reason, everyone)
        for field in np.flatnonzero(modes[:, 0]).tolist():
            filler = held[field, self.joints]
            if field > 0 and partial == 'zero':
                filler = np.zeros(len(self.joints))
            elif field == 0:
                filler = np.where(np.isnan(filler), measured_position[self.joints], filler)
            if np.isnan(filler[missing]).any():
                reason = f'no {FIELDS[field]} command {coupled}, and nothing to hold'
                raise JointRejection('partial', reason, everyone)
            command[field, self.joints[missing]] = filler[missing]

    def keep_partners(self, ending: Array, held: Array) -> None:
        """
        Keep the commands of the partners of ending joints, in place.

        A partner without a command of that mode gets zero. If there are too few actuators for one
        joint to move alone, all joints end.

        :param ending: Zeros that end rates, shape ``(3, n_joints)``, NaN elsewhere.
        :param held: Active commands, same shape.
        """
        mine = ending[:, self.joints]
        for field in np.flatnonzero(~np.isnan(mine).all(axis=1)):
            kept = np.nan_to_num(held[field, self.joints]) * self.can_hold
            ending[field, self.joints] = np.where(np.isnan(mine[field]), kept, mine[field])

    def _solve_underactuated(
        self, field: int, values: Array, commanded: Mask, jacobian: Array, offset: Array
    ) -> Array:
        """
        Return the command of all joints after solving the actuators for the commanded joints.

        ``a = J_S^+ (q_S - off_S)``, so ``q = J a + off`` for all joints. Velocity uses the same
        equations without the offset. Effort of a joint without a command is zero:
        ``tau_a = J_S^T tau_S``.
        """
        if FIELDS[field] == 'effort':
            return np.where(commanded, values, 0.0)
        bias = offset if FIELDS[field] == 'position' else np.zeros(len(offset))
        actuators = np.linalg.pinv(jacobian[commanded]) @ (values - bias)[commanded]
        followed: Array = jacobian @ actuators + bias
        return followed


def find_coupled_joints(robot: RobotTransmissions) -> tuple[CoupledJoints, ...]:
    """Return the groups of joints that one transmission moves together."""
    zeros = np.zeros(len(robot.actuator_names))
    # The robot's own methods catch the errors of plugins.
    jacobian = robot.jacobian(zeros)
    offset = robot.actuator_to_joint('position', zeros)
    return tuple(
        CoupledJoints(
            binding,
            np.array(binding.joints, dtype=np.intp),
            tuple(member.name for member in binding.spec.joints),
            _find_underactuated_map(binding, jacobian, offset),
            len(binding.actuators) >= len(binding.joints),
        )
        for binding in robot.bindings
        if len(binding.joints) > 1
    )


def _find_underactuated_map(
    binding: Binding, jacobian: Array, offset: Array
) -> tuple[Array, Array] | None:
    if len(binding.actuators) >= len(binding.joints) or not binding.transmission.is_constant:
        return None
    own = jacobian[np.ix_(binding.joints, binding.actuators)], offset[list(binding.joints)]
    return own if all(np.isfinite(each).all() for each in own) else None


# -- Patterns of given values --------------------------------------------------------------------
#
# Controllers repeat commands of the same joints in the same modes. These determine the coupled
# joints to fill in, the commanded actuators and the messages to them.


#: Number of cached patterns; controllers use fewer combinations in practice.
PATTERNS = 64


@dataclass(frozen=True, eq=False, slots=True)
class CommandPattern:
    """
    The structure that follows from the values present in a command.

    :param is_mixed: Whether joints are commanded in different modes.
    :param has_positions: Whether a joint has a position command.
    :param positions: Mask of the joints with a position command after completion, as bytes.
    :param has_rates: Whether a joint has a velocity or effort command.
    :param partial: Groups of coupled joints with a command to some joints, or in different modes.
    :param given: Indices of the joints that the message commands.
    :param following: Indices of joints that follow those because of too few actuators, or
        ``None``.
    :param joints: Mask of the commanded joints after completion.
    :param actuators: Mask of the commanded actuators.
    :param result: Mask of the numbers of the result that have to be finite, shape ``(3,
        n_actuators)``, as bytes.
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

    def make_records(self, sent: Array, stamp: Stamp) -> list[JointStateRecord]:
        """Return the messages with the numbers of ``sent``, shape ``(3, n_actuators)``."""
        return [form.make_record(sent, stamp) for form in self.messages]


class CommandPatterns:
    """
    The command patterns of a robot.

    :ivar groups: The groups of coupled joints.
    """

    def __init__(self, robot: RobotTransmissions, options: BridgeOptions) -> None:
        self._robot = robot
        self._options = options
        self.groups = find_coupled_joints(robot)
        self._pattern_of = lru_cache(maxsize=PATTERNS)(self._make_pattern)

    def find_pattern(self, given: Mask) -> CommandPattern:
        """
        Return the pattern of a command.

        :param given: Mask of its values, rows position, velocity, effort, shape ``(3, n_joints)``.
        """
        return self._pattern_of(given.tobytes())

    def _make_pattern(self, key: bytes) -> CommandPattern:
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
            messages=find_message_forms(self._robot.actuator_names, result, self._options),
        )


def list_underactuated(robot: RobotTransmissions) -> list[list[int]]:
    """Return the joints that move together, because their transmission has fewer actuators."""
    return [list(each.joints) for each in robot.bindings if len(each.actuators) < len(each.joints)]


def list_owned_actuators(binding: Binding) -> Index:
    """Return the indices of the actuators that are commanded through a transmission."""
    actuators: Index = np.array(binding.actuators, dtype=np.intp)[np.array(binding.owned)]
    return actuators


# -- Names in joint commands ---------------------------------------------------------------------
#
# ros2_control's topic-based hardware names every joint in ``name``, but fills each array only for
# the joints that declare the command interface: arrays are shorter than the names and misaligned.
# The declarations decide how to read such a message if they are unambiguous.


#: Number of unknown names in an error with a suggestion of the closest known name.
_MOST_SOUGHT = 3


@dataclass(frozen=True, slots=True)
class CommandNames:
    """
    The joint names that commands may use.

    :param nothing: A command to no joint, all NaN, shape ``(3, n_joints)``; must not be changed.
    :param commandable: Index of each joint that may be commanded.
    :param barred: Joints that must not be commanded, with the reason.
    :param declared: By interface, the joints that declare it as a command interface in a
        ``<ros2_control>`` block.
    """

    nothing: Array
    commandable: Mapping[str, int]
    barred: Mapping[str, str]
    declared: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _FieldPlan:
    """One array of a message: ``command[places] = values[picks]``, NaN at ``barred``."""

    names: tuple[str, ...]
    places: Index | slice
    picks: Index | None
    barred: Index


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """
    The plan for reading messages of one layout.

    :param fields: One entry per array, ``None`` if the array is empty.
    :param nothing: See :class:`CommandNames`.
    """

    reasons: Mapping[str, str]
    fields: tuple[_FieldPlan | None, ...]
    nothing: Array

    def extract_command(
        self, data: JointStateRecord, rejected: list[tuple[str, str]] | None = None
    ) -> Array:
        """
        Return rows position, velocity, effort, shape ``(3, n_joints)``, NaN: no command.

        :param rejected: Receives name and reason of each joint that has a value but may not be
            commanded; ``None``: such a joint is an error.
        :raises MessageError: If there is such a joint and no list (``not_commandable``).
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
    Return the plan for reading messages of a layout.

    :param may_be_unknown: Whether unknown names count as joints that may not be commanded.
    :raises MessageError: As :func:`check_names`, or if an array fits neither the names nor
        the declarations (``ragged``).
    """
    check_names(layout.names, None if may_be_unknown else known)
    fields = tuple(
        _plan_field(layout, interface, length, known) if length else None
        for interface, length in zip(FIELDS, layout.lengths, strict=True)
    )
    return CommandPlan(known.barred, fields, known.nothing)


def check_names(names: Sequence[str], known: CommandNames | None) -> None:
    """
    Check the joint names of a command.

    :param known: The known names; ``None``: accept any name.
    :raises MessageError: If a name is unknown (``unknown_joint``) or repeated
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


def _plan_field(layout: Layout, interface: str, length: int, known: CommandNames) -> _FieldPlan:
    named = layout.names
    if length != len(named):
        named = tuple(n for n in layout.names if n in known.declared.get(interface, ()))
        # An unknown joint may have a value in the array, or not.
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
            raise make_ragged_error(layout.names, {interface: length}, otherwise=otherwise)
    commandable = [pick for pick, name in enumerate(named) if name in known.commandable]
    return _FieldPlan(
        named,
        as_slice([known.commandable[named[pick]] for pick in commandable]),
        None if len(commandable) == len(named) else np.array(commandable, dtype=np.intp),
        np.array(
            [p for p, name in enumerate(named) if name not in known.commandable], dtype=np.intp
        ),
    )


def read_array(interface: str, names: Sequence[str], values: Array, known: CommandNames) -> Array:
    """
    Return the command in a plain array of one interface.

    As in ros2_control's forward_command_controller, an array is rejected if its size is wrong or
    a value is not finite.

    :param interface: ``position``, ``velocity`` or ``effort``.
    :param names: The joint of each value; all are commandable.
    :returns: See :meth:`CommandPlan.extract_command`.
    :raises MessageError: If the number of values is wrong (``size``), or a value is NaN or
        infinite (``not_finite``).
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


def find_command_names(robot: RobotTransmissions) -> CommandNames:
    """Return the joint names that commands to a robot may use."""
    reading = {
        member.name: 'its transmission only reads'
        for binding in robot.bindings
        for member in binding.spec.joints
        if not all(binding.owned)
        or any(member.read_only for member in (*binding.spec.joints, *binding.spec.actuators))
        # If a block declares no interface, its joints may be commanded.
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
