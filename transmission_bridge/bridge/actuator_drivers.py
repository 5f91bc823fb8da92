# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The drivers of the actuators: the names and the units that they use. Everything inside is SI.

Plans, state maps and tools make these objects for a robot. Nothing changes them afterwards. Users
spell the names in the option ``actuator_names`` and in the topics of drivers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from transmission_bridge.bridge.options.options import split_driver_topic
from transmission_bridge.errors import closest, make_option_error
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array, Index


class Recipient(NamedTuple):
    """
    The actuators of one driver in a message.

    :param namespace: Namespace of the driver's topics, as in :class:`DriverNames`.
    :param names: Their names there.
    :param places: Their indices.
    """

    namespace: str
    names: tuple[str, ...]
    places: list[int]


class DriverNames:
    """
    The driver of each actuator, and its name there.

    :class:`~transmission_bridge.bridge.states.state_map.DriverStateIndex` translates names in
    states. An entry ``topic:driver_name`` assigns an actuator to the driver that publishes states
    on that topic; the other topics of that driver are in the same namespace. All other actuators
    have their topics in the namespace of the bridge.

    :param actuator_names: ``driver_name`` or ``topic:driver_name`` to URDF name. If an actuator
        has two names, an entry with a topic is used, otherwise the first.
    :param actuators: Actuators of the robot; entries for others are ignored.
    :ivar namespaces: Namespaces of the drivers: ``''`` is the namespace of the bridge, others end
        with a slash.
    :raises ParameterError: If an actuator has two drivers, or two actuators in one namespace
        would have one name.
    """

    def __init__(self, actuator_names: Mapping[str, str], actuators: Sequence[str]) -> None:
        entries = [(*split_driver_topic(entry), name) for entry, name in actuator_names.items()]
        # Entries with a topic first, otherwise in their order.
        self._entries = sorted(
            (entry for entry in entries if entry[2] in actuators), key=lambda entry: not entry[0]
        )
        topics: dict[str, str] = {}
        for topic, driver_name, name in self._entries:
            if topic and topics.setdefault(name, topic) != topic:
                entry, why = f'{topic}:{driver_name}={name}', f'{name} would have two drivers'
                expected = f'{name} behind {topics[name]} only'
                raise make_option_error('actuator_names', expected, entry, why)
        self._actuators = tuple(actuators)
        #: Namespace and the driver's name of each actuator.
        self._addresses: dict[str, tuple[str, str]] = {}
        for topic, driver_name, name in self._entries:
            self._addresses.setdefault(name, (_namespace_of(topic), driver_name))
        for name in actuators:
            self._addresses.setdefault(name, ('', name))
        taken: dict[tuple[str, str], str] = {}
        for name, (namespace, driver_name) in self._addresses.items():
            other = taken.setdefault((namespace, driver_name), name)
            if other != name:
                topic = f'{namespace}actuator_commands'
                raise make_option_error(
                    'actuator_names',
                    'two names, or a namespace for the states of each driver, '
                    "as 'left/actuator_states' and 'right/actuator_states'",
                    f'{driver_name}={name}',
                    f'{other} and {name} would both be {driver_name} on {topic}',
                )
        self.namespaces = tuple(dict.fromkeys(self._addresses[a][0] for a in actuators)) or ('',)

    @property
    def driver_names(self) -> dict[str, str]:
        """The drivers' names of the actuators, after the namespace of their topics."""
        return {name: ''.join(address) for name, address in self._addresses.items()}

    def find_topic_entries(self, name: str) -> dict[str, str]:
        """
        Return the entries for another topic of the drivers.

        :param name: Name of the topic, without a namespace.
        """
        return {
            f'{_namespace_of(topic)}{name}:{driver_name}' if topic else driver_name: actuator
            for topic, driver_name, actuator in self._entries
        }

    def divide_actuators(self, actuators: Iterable[int]) -> list[Recipient]:
        """Return the drivers of some actuators, each with its own in the same order."""
        shares: dict[str, list[int]] = {}
        for actuator in actuators:
            shares.setdefault(self._addresses[self._actuators[actuator]][0], []).append(actuator)
        return [
            Recipient(ns, tuple(self._addresses[self._actuators[p]][1] for p in places), places)
            for ns, places in shares.items()
        ]


def _namespace_of(topic: str) -> str:
    return topic[: topic.rfind('/') + 1]


def check_array_order(
    option: str, names: Sequence[str], allowed: Collection[str], lost: Mapping[str, str]
) -> None:
    """
    Check the names that define the order of an array.

    :param option: Name of the option.
    :param allowed: The names that it may have.
    :param lost: Names of rejected transmissions, with the reason; an array cannot omit them.
    :raises ParameterError: If a name is not allowed or repeated.
    """
    kinds = {'command_joints': 'a joint that may be commanded'}
    for number, name in enumerate(names):
        if name not in allowed:
            why = f', {lost[name]}' if name in lost else closest(name, allowed)
            what = f'is not {kinds.get(option, "an actuator of the robot")}{why}'
            expected = f'names out of {", ".join(allowed)}'
        elif name in names[:number]:
            what, expected = 'is repeated', 'each name once'
        else:
            continue
        raise make_option_error(option, expected, name, f"'{name}' {what}")


Places: TypeAlias = Index | list[int] | slice | int


class DriverUnits:
    """
    Conversion between the units of the drivers and SI at the motors.

    The number in SI is the driver's number times its scale. Rows are position, velocity (and
    acceleration), effort, in the order of ``all_units`` in ``robot.units``.

    :ivar scales: Shape ``(3, n_actuators)``; ``None`` if all units are SI.
    """

    def __init__(self, robot: RobotTransmissions) -> None:
        self._texts = robot.units
        scales = np.ones((len(FIELDS), len(robot.actuator_names)))
        for name, units in robot.units.items():
            scales[:, robot.actuator_names.index(name)] = [unit.scale for unit in units.all_units]
        self.scales: Array | None = None if (scales == 1.0).all() else scales

    def in_si(self, values: Array, *at: Places) -> Array:
        """
        Return numbers of drivers in SI; the same array if all units are SI.

        :param values: Shape ``(3, n_actuators)``; with a row ``(..., n_actuators)``.
        :param at: The row of the numbers, and the actuators of their last axis; by default all.
        """
        return values if self.scales is None else values * self.scales[at]

    def of_drivers(self, values: Array, *at: Places) -> Array:
        """Return numbers in SI in the units of the drivers; arguments as :meth:`in_si`."""
        return values if self.scales is None else values / self.scales[at]

    def find_text(self, actuator: str, row: int) -> str:
        """Return the unit of an actuator after a space, empty if it is SI."""
        units = self._texts.get(actuator)
        return f' {units.all_units[row].text}'.rstrip() if units else ''

    def convert_gains(self, gains: Array, row: int) -> Array:
        """
        Return gains of motors in units of the drivers: unit of effort per unit of ``row``.

        :param gains: SI at the motors, shape ``(n_actuators, n_actuators)``; see
            :class:`~transmission_bridge.kinematics.gains.ActuatorGains`.
        :param row: 0: position (proportional gain), 1: velocity (derivative gain).
        """
        if self.scales is None:
            return gains
        converted: Array = gains * self.scales[row] / self.scales[2][:, np.newaxis]
        return converted
