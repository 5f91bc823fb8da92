# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The contract of a driver in Python, the declared hardware, and the class of each plugin.

Authors of drivers rely on :class:`Driver`, :class:`Hardware`, :class:`Command` and
:class:`DriverError`: their names, the order of rows and the thread are fixed. The node and the
commands call the functions. A plugin is the name of an entry point of the group
``transmission_bridge.drivers``, so that a URDF can only cause imports of registered classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
import importlib.metadata
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import ParameterSpec, Ros2ControlSpec
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.types import Array

#: Classes of this process by plugin. The command line adds them before the node exists.
_local: dict[str, type[Driver]] = {}

#: Rate of a block without a rate [Hz].
_RATE = 100.0


class DriverError(TransmissionBridgeError, RuntimeError):
    """A method of a driver failed, or its hardware is declared wrongly."""


@dataclass(frozen=True, slots=True, eq=False)
class DriverActuator:
    """
    One actuator of the hardware.

    :param name: As in the URDF.
    :param joint: The joint of a transmission with one joint and one actuator, otherwise empty.
    :param parameters: ``<param>`` of the ``<joint>`` in the block, overridden by ``<param>`` of
        the ``<actuator>``.
    """

    name: str
    joint: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Hardware:
    """
    The hardware of one driver.

    :param name: Name of the ``<ros2_control>`` block; empty for actuators outside of all blocks.
    :param parameters: ``<param>`` of ``<hardware>``.
    :param actuators: In the order of all arrays: of the transmissions, then of the joints that
        pass through.
    :param rate: Cycles per second [Hz]: ``<param name="rate">`` of ``<hardware>``, otherwise
        ``rw_rate`` of the block, otherwise 100.
    :param scales: SI per unit that the URDF declares, rows position, velocity, effort, shape
        ``(3, n)``; 1 if the actuator declares no unit.
    :param compute_start: Returns positions at which every joint is within its limits, shape
        ``(n,)``, for simulators: zero if possible.
    """

    name: str
    parameters: Mapping[str, str]
    actuators: tuple[DriverActuator, ...]
    rate: float
    scales: Array
    compute_start: Callable[[], Array | float] = lambda: 0.0

    def read_text(self, name: str, default: str | None = None) -> str:
        """
        Return a ``<param>`` of ``<hardware>``.

        :raises DriverError: If it is missing or empty, and there is no default.
        """
        text = self.parameters.get(name) or default
        if text is None:
            raise DriverError(f'<param name="{name}"> of <hardware> is missing')
        return text

    def read_number(self, name: str, default: float | None = None) -> float:
        """
        Return a number of ``<hardware>``; whole numbers are ``int``, also as ``0x7f``.

        :raises DriverError: If it is not a finite number, or missing without a default.
        """
        if default is not None and not self.parameters.get(name):
            return default
        return _read_number(self.read_text(name), f'<param name="{name}"> of <hardware>')

    def read_numbers(self, name: str, default: float | None = None) -> list[float]:
        """
        Return a number of each actuator, for example its id; see :meth:`read_number`.

        :raises DriverError: As there.
        """
        return [
            default
            if default is not None and name not in actuator.parameters
            else _read_number(
                actuator.parameters.get(name, ''),
                f'<param name="{name}"> of actuator \'{actuator.name}\'',
            )
            for actuator in self.actuators
        ]


def _read_number(text: str, place: str) -> float:
    with suppress(ValueError):
        return int(text, 0)
    number = math.nan
    with suppress(ValueError):
        number = float(text)
    if not math.isfinite(number):
        raise DriverError(f'{place}: expected a number, found {text!r}')
    return number


class Command(NamedTuple):
    """
    The active commands of all actuators; NaN: none. The arrays are the driver's own.

    An actuator has a position, a velocity, an effort, or no command. A velocity or effort beside
    a position, and an effort beside a velocity, is a hint (feed-forward).

    :param position: Shape ``(n,)`` [rad or m, or the ``position_unit`` of the actuator].
    :param velocity: Shape ``(n,)`` [rad/s or m/s, or ``velocity_unit``].
    :param effort: Shape ``(n,)`` [N m or N, or ``effort_unit``].
    """

    position: Array
    velocity: Array
    effort: Array

    def list_given(self, field: str) -> list[tuple[int, float]]:
        """Return index and number of each actuator with a number in ``field``."""
        numbers: list[float] = getattr(self, field).tolist()
        return [(index, number) for index, number in enumerate(numbers) if number == number]


class Driver:
    """
    Motors behind a Python library. Subclass it, and name the class in ``<hardware><plugin>``.

    ::

        configure() -> activate() -> read(), write() in each cycle -> deactivate() -> cleanup()

    One thread, which belongs to the driver, calls all methods. A method may block as long as its
    I/O takes, with a timeout: a method that hangs cannot be stopped, and until it returns nothing
    else is called. Exceptions are reported with method and text, and the cycles continue. If
    reading fails for 1 s, the driver is closed and opened again every 2 s.

    Arrays have shape ``(n,)`` in the order of ``hardware.actuators``. Numbers are SI, or in the
    units that the ``<actuator>`` declares. The class is called without arguments.
    """

    #: Whether a whole turn of each actuator may be missing in its positions, for example because
    #: its encoder counts one turn. The limits of the joints then determine the turn.
    single_turn: bool = False

    def configure(self, hardware: Hardware) -> None:
        """
        Open the port, and find the motors. Nothing may move.

        :raises Exception: If the hardware cannot be used. The transition of the node fails.
        """

    def activate(self) -> None:
        """
        Switch the motors on. Nothing may move: goals become the present positions, rates zero.

        :raises Exception: If a motor cannot be switched on. The transition of the node fails.
        """

    def read(self) -> npt.ArrayLike | None:
        """
        Return the present state.

        :returns: Positions, shape ``(n,)``; or one to three rows position, velocity, effort, shape
            ``(1 to 3, n)``. NaN: unknown. If a position becomes NaN, the actuator does not answer:
            its commands are forgotten. ``None``: nothing new.
        :raises Exception: If the state cannot be read; the last one becomes stale.
        """
        raise NotImplementedError

    def write(self, command: Command) -> None:
        """
        Send the active commands.

        Called in each cycle while there is a command, because a message may be lost; and once
        more between two cycles if a new command arrives.

        :raises Exception: If the command cannot be sent. After 1 s it is forgotten.
        """

    def status(self) -> Mapping[str, npt.ArrayLike]:
        """
        Return other numbers of the motors, for diagnostics, by name and unit.

        For example ``{'temperature [C]': [31, 33], 'errors': [0, 0]}``, shape ``(n,)`` each; NaN:
        unknown. Called once a second.
        """
        return {}

    def deactivate(self) -> None:
        """Switch the motors off, or let them hold. Called after each activate, failed or not."""

    def cleanup(self) -> None:
        """Close the port. Called after each configure, failed or not."""


def list_driver_hardware(robot: RobotTransmissions) -> dict[str, tuple[str, Hardware]]:
    """
    Return plugin and hardware of each ``<ros2_control>`` block with actuators, by its name.

    The entry with the empty name has the actuators outside of all blocks (ROS 1, joints that no
    block has), and no plugin.

    :raises DriverError: If a ``rate`` is not a positive number.
    """
    # Actuators outside of all blocks have a block without a name.
    blocks = {'': Ros2ControlSpec(name='', type='')}
    blocks |= {block.name: block for block in robot.description.blocks}
    block_of = {
        component.name: block.name
        for block in blocks.values()
        for component in block.components
        if component.kind == 'joint'
    }
    # ``all_units`` has the order of the rows.
    scales = {
        name: [unit.scale for unit in units.all_units] for name, units in robot.units.items()
    }
    by_block: dict[str, dict[str, DriverActuator]] = {}
    for binding in robot.bindings:
        spec = binding.spec
        joint = spec.joints[0].name if len(spec.joints) == len(spec.actuators) == 1 else ''
        name = block_of.get(joint, '') if binding.is_identity else spec.block
        component = blocks[name].component(joint)
        of_joint = _list_texts(component.parameters if component else ())
        for each in spec.actuators:
            actuator = DriverActuator(each.name, joint, of_joint | _list_texts(each.parameters))
            by_block.setdefault(name, {}).setdefault(each.name, actuator)
    hardware = {}
    for name, actuators in by_block.items():
        block = blocks[name]
        texts, rate = _list_texts(block.parameters), block.rw_rate or _RATE
        place = f'<param name="rate"> of \'{name}\''
        if 'rate' in texts and not (rate := _read_number(texts['rate'], place)) > 0.0:
            raise DriverError(f'{place}: expected more than 0 Hz')
        rows = np.array([scales.get(each, [1.0] * len(FIELDS)) for each in actuators]).T
        start = partial(_compute_start, robot, list(actuators), rows[0])
        declared = Hardware(name, texts, tuple(actuators.values()), rate, rows, start)
        hardware[name] = block.plugin, declared
    return hardware


def _compute_start(robot: RobotTransmissions, actuators: list[str], scales: Array) -> Array:
    lower, upper = robot.joint_limits[:, 0]
    joints = robot.actuator_to_joint('position', np.zeros(len(robot.actuator_names)))
    joints = np.where((joints < lower) | (joints > upper), np.clip(0.0, lower, upper), joints)
    start = np.nan_to_num(robot.joint_to_actuator('position', joints))
    return np.asarray(start[[robot.actuator_names.index(each) for each in actuators]] / scales)


def _list_texts(parameters: Iterable[ParameterSpec]) -> dict[str, str]:
    return {parameter.name: parameter.value for parameter in parameters}


# -- From the plugin of a block to the class of a driver -----------------------------------------


def register_driver(plugin: str, kind: type[Driver]) -> None:
    """Register a class of this process, for example of a file on the command line."""
    _local[plugin] = kind


def list_driver_plugins() -> dict[str, list[importlib.metadata.EntryPoint]]:
    """Return the installed drivers by plugin; an overlaid workspace may list one twice."""
    drivers: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for entry in importlib.metadata.entry_points(group='transmission_bridge.drivers'):
        providers = drivers.setdefault(entry.name, [])
        if entry.value not in [provider.value for provider in providers]:
            providers.append(entry)
    return drivers


def find_driver_class(plugin: str) -> type[Driver] | None:
    """
    Return the class of a plugin; ``None`` if no driver in Python has this name.

    :raises DriverError: If two packages provide it, it cannot be imported, or is not a driver.
    """
    if plugin in _local:
        return _local[plugin]
    entries = list_driver_plugins().get(plugin)
    if entries is None:
        return None
    values = ' and '.join(entry.value for entry in entries)
    if len(entries) > 1:
        raise DriverError(f"driver '{plugin}' is provided by {values}; remove all but one")
    try:
        loaded = entries[0].load()
    except (Exception, SystemExit) as error:
        raise DriverError(f"driver '{plugin}' ({values}) cannot be imported: {error!r}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Driver)):
        raise DriverError(f"driver '{plugin}': {values} is not a subclass of tb.Driver")
    return loaded


def find_block_drivers(
    robot: RobotTransmissions, plugins: Mapping[str, str]
) -> dict[str, tuple[type[Driver], Hardware]]:
    """
    Return class and hardware of each block with a driver in Python, by its name.

    :param plugins: Plugins to use instead of the described ones, by block; ``*``: for all
        blocks, and for the actuators outside of blocks, which have the empty name.
    :raises DriverError: If a driver cannot be used.
    """
    # Each look-up of installed drivers takes milliseconds.
    drivers, usable = {}, {*_local, *list_driver_plugins()}
    for name, (plugin, hardware) in list_driver_hardware(robot).items():
        wanted = plugins.get(name, plugins.get('*', plugin))
        kind = find_driver_class(wanted) if wanted in usable else None
        if kind is not None:
            drivers[name] = kind, hardware
    return drivers


def list_encoder_periods(drivers: Mapping[str, tuple[type[Driver], Hardware]]) -> dict[str, float]:
    """Return a turn in the unit of each actuator of a driver with ``single_turn``."""
    return {
        actuator.name: 2.0 * math.pi / scale
        for kind, hardware in drivers.values()
        if kind.single_turn
        for actuator, scale in zip(hardware.actuators, hardware.scales[0], strict=True)
    }
