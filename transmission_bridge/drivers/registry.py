# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
From the plugin of a block to the class of a driver, through entry points.

The entry-point group is ``transmission_bridge.drivers``; the entry's name is the text of
``<hardware><plugin>``. A URDF can only cause imports of registered entry points.
"""

from __future__ import annotations

from collections.abc import Mapping
import importlib.metadata
import math

from transmission_bridge.drivers.driver import Driver, DriverError, Hardware, list_hardware
from transmission_bridge.transmissions import RobotTransmissions

ENTRY_POINT_GROUP = 'transmission_bridge.drivers'

_local: dict[str, type[Driver]] = {}


def add_driver(plugin: str, kind: type[Driver]) -> None:
    """Register a class of this process, for example of a file on the command line."""
    _local[plugin] = kind


def list_drivers() -> dict[str, list[importlib.metadata.EntryPoint]]:
    """Return the installed drivers by plugin; an overlaid workspace may list one twice."""
    drivers: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        providers = drivers.setdefault(entry.name, [])
        if entry.value not in [provider.value for provider in providers]:
            providers.append(entry)
    return drivers


def find_driver(plugin: str) -> type[Driver] | None:
    """
    Return the class of a plugin; ``None`` if no driver in Python has this name.

    :raises DriverError: If two packages provide it, it cannot be imported, or is not a driver.
    """
    if plugin in _local:
        return _local[plugin]
    entries = list_drivers().get(plugin)
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


def find_drivers(
    robot: RobotTransmissions, plugins: Mapping[str, str]
) -> dict[str, tuple[type[Driver], Hardware]]:
    """
    Return class and hardware of each block with a driver in Python, by its name.

    :param plugins: Plugins to use instead of the described ones, by block; ``*``: for all
        blocks, and for the actuators outside of blocks, which have the empty name.
    :raises DriverError: If a driver cannot be used.
    """
    drivers, known = {}, {*_local, *list_drivers()}
    for name, (plugin, hardware) in list_hardware(robot).items():
        wanted = plugins.get(name, plugins.get('*', plugin))
        # To look up each of them takes milliseconds.
        kind = find_driver(wanted) if wanted in known else None
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
