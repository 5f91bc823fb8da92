# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Where the entries of a joint command go, and which must not hold a value.

ros2_control's topic-based hardware names every joint in ``name`` but fills each array only for the
joints that declare the command interface, so that its arrays are shorter than, and misaligned
with, the names. Such a message is repaired from the declarations where they leave no doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.places import as_slice
from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.errors import closest, MessageError, shortened, shown
from transmission_bridge.messages.joint_state import JointStateData
from transmission_bridge.messages.layout import Layout, ragged
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.affine_map import Array
from transmission_bridge.transmissions.interfaces import FIELDS

__all__ = [
    'CommandNames',
    'CommandPlan',
    'array_command',
    'command_names',
    'plan_command',
    'refuse_unknown',
]

Index = npt.NDArray[np.intp]

#: Unknown names of a message for which the closest known ones are sought.
_MOST_SOUGHT = 3


@dataclass(frozen=True, slots=True)
class CommandNames:
    """
    What the robot knows of names in commands.

    :param nothing: A command to no joint, shape ``(3, n_joints)``; to be copied, not changed.
    :param commandable: Place of each joint that may be commanded.
    :param barred: Joints that exist but may not, with the reason.
    :param declared: By interface, the joints whose ros2_control joint declares it as a command
        interface.
    """

    nothing: Array
    commandable: Mapping[str, int]
    barred: Mapping[str, str]
    declared: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Field:
    """One array of a message: ``command[places] = values[picks]``; no value at ``barred``."""

    places: Index | slice
    picks: Index | None
    barred: Index

    def is_whole(self, everyone: slice) -> bool:
        """Tell whether the array is one value for each joint, in their order."""
        return isinstance(self.places, slice) and self.places == everyone and self.picks is None


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """
    How messages of one layout are read.

    :param fields: One entry per array, ``None`` where the array is empty.
    :param nothing: A command to no joint, shape ``(3, n_joints)``; not to be changed.
    :param is_whole: Whether all three arrays hold every joint in its place.
    """

    names: tuple[str, ...]
    reasons: Mapping[str, str]
    fields: tuple[_Field | None, ...]
    nothing: Array
    is_whole: bool

    def read(self, data: JointStateData) -> Array:
        """
        Return rows position, velocity, effort, shape ``(3, n_joints)``, NaN: no command.

        :raises MessageError: If a joint that may not be commanded holds a value
            (``not_commandable``).
        """
        if self.is_whole and data.rows is not None:
            command: Array = data.rows.copy()
            return command
        command = self.nothing.copy()
        for row, field in enumerate(self.fields):
            if field is None:
                continue
            values = (data.position, data.velocity, data.effort)[row]
            command[row, field.places] = values if field.picks is None else values[field.picks]
            if len(field.barred) and not np.isnan(values[field.barred]).all():
                self._refuse(field.barred[~np.isnan(values[field.barred])], row)
        return command

    def _refuse(self, picks: Index, row: int) -> None:
        sentences = [f'{self.names[pick]} ({self.reasons[self.names[pick]]})' for pick in picks]
        raise MessageError(
            'not_commandable', f'{FIELDS[row]} command for {shortened(sentences, show=str)}'
        )


def plan_command(layout: Layout, known: CommandNames) -> CommandPlan:
    """
    Work out how messages of a layout are read.

    :raises MessageError: If a name is unknown (``unknown_joint``) or given twice
        (``duplicate_name``), or an array fits neither the names nor the declarations
        (``ragged``).
    """
    refuse_unknown(layout.names, known)
    if len(set(layout.names)) < len(layout.names):
        times = {name: layout.names.count(name) for name in set(layout.names)}
        repeated = [name for name, count in times.items() if count > 1]
        raise MessageError('duplicate_name', f'given more than once: {shortened(repeated)}')
    fields = tuple(
        _field(layout, interface, length, known) if length else None
        for interface, length in zip(FIELDS, layout.lengths, strict=True)
    )
    everyone = slice(0, known.nothing.shape[1])
    is_whole = all(field is not None and field.is_whole(everyone) for field in fields)
    return CommandPlan(layout.names, known.barred, fields, known.nothing, is_whole)


def refuse_unknown(names: Sequence[str], known: CommandNames) -> None:
    """
    Refuse a message that names a joint which the robot does not have.

    :raises MessageError: If it does (``unknown_joint``).
    """
    unknown = [
        name for name in names if name not in known.commandable and name not in known.barred
    ]
    if not unknown:
        return
    sought = [
        f'{shown(name)}{closest(name, known.commandable)}' for name in unknown[:_MOST_SOUGHT]
    ]
    more = len(unknown) - len(sought)
    raise MessageError(
        'unknown_joint',
        f'the robot has no joint {", ".join(sought)}{f" and {more} more" if more else ""}; '
        'nothing was moved',
        about=shortened(unknown, _MOST_SOUGHT),
    )


def _field(layout: Layout, interface: str, length: int, known: CommandNames) -> _Field:
    named = layout.names
    if length != len(named):
        named = tuple(n for n in layout.names if n in known.declared.get(interface, ()))
        if length != len(named):
            raise ragged(
                layout.names,
                {interface: length},
                otherwise=f'; or one for each joint that declares the {interface} command '
                f'interface ({shortened(named)})'
                if 0 < len(named) < len(layout.names)
                else '',
            )
    commandable = [pick for pick, name in enumerate(named) if name in known.commandable]
    return _Field(
        as_slice([known.commandable[named[pick]] for pick in commandable]),
        None if len(commandable) == len(named) else np.array(commandable, dtype=np.intp),
        np.array([p for p, name in enumerate(named) if name in known.barred], dtype=np.intp),
    )


def array_command(
    interface: str, names: Sequence[str], values: Array, known: CommandNames
) -> Array:
    """
    Return the command that a plain array of one interface means.

    A wrong size or any value that is not finite drops it all, as ros2_control's
    forward_command_controller does.

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
    """Return what a robot knows of names in commands."""
    reading = {
        member.name: 'its transmission only reads'
        for binding in robot.bindings
        for member in binding.spec.joints
        if not all(binding.owned)
        or any(member.read_only for member in (*binding.spec.joints, *binding.spec.actuators))
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
    for name in _block_joints(robot.robot):
        if name not in robot.joint_names:
            barred.setdefault(name, lost.get(name, 'not bridged'))
    return CommandNames(
        np.full((len(FIELDS), len(robot.joint_names)), np.nan),
        {name: place for place, name in enumerate(robot.joint_names) if name not in reading},
        barred,
        _declared(robot.robot),
    )


def _block_joints(robot: RobotDescription) -> Iterable[str]:
    return (
        component.name
        for block in robot.blocks
        for component in block.components
        if component.kind == 'joint'
    )


def _declared(robot: RobotDescription) -> dict[str, frozenset[str]]:
    return {
        interface: frozenset(
            component.name
            for block in robot.blocks
            for component in block.components
            if component.kind == 'joint'
            and any(declared.name == interface for declared in component.command_interfaces)
        )
        for interface in FIELDS
    }
