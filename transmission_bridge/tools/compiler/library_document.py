# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The text in a compiled library that :mod:`transmission_bridge.transmissions.library` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transmission_bridge.description import RobotDescription
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.transmissions.library import hash_transmission
from transmission_bridge.transmissions.robot import Robot
from transmission_bridge.transmissions.tunable import Tunable

#: The method of the reader for a number of each member.
_READS = {
    ('joints', 'mechanical_reduction'): 'joint_reductions',
    ('actuators', 'mechanical_reduction'): 'actuator_reductions',
    ('joints', 'offset'): 'joint_offsets',
    ('actuators', 'offset'): 'actuator_offsets',
}


def describe_library(
    robot: Robot,
    tunables: Sequence[Tunable],
    description: RobotDescription,
    aliases: Mapping[str, str],
) -> dict[str, Any]:
    """
    Return the document of a library.

    :param robot: The compiled robot.
    :param tunables: Its live numbers in C, in their order.
    :param aliases: Types in the description to installed types.
    """
    mechanisms = robot.mechanisms(ACTUATOR_TO_JOINT)
    transmissions: dict[str, Any] = {}
    for binding in robot.bindings:
        known = {'hash': hash_transmission(binding.spec, description)}
        if binding in mechanisms:
            own = [each for each in tunables if each.transmission == binding.spec.name]
            known |= _describe_mechanism(binding, own, aliases)
        transmissions[binding.spec.name] = known
    return {
        'actuators': robot.actuator_names,
        'joints': robot.joint_names,
        'numbers': [each.name for each in tunables],
        'transmissions': transmissions,
    }


def _describe_mechanism(
    binding: Binding, tunables: Sequence[Tunable], aliases: Mapping[str, str]
) -> dict[str, Any]:
    reads: dict[str, list[str]] = {}
    numbers = []
    for each in tunables:
        method = _READS.get((each.path[0], each.path[-1])) if len(each.path) == 3 else None
        if method is None:
            # The bridge sets the number of the description, or that of its parameter file.
            numbers.append((each.path, each.default, each.description))
        else:
            reads[method] = [each.description] if method == 'actuator_offsets' else []
    transmission = binding.transmission
    domain = getattr(transmission, 'domain', None)
    return {
        'type': aliases.get(binding.spec.type, binding.spec.type),
        'joints': binding.all_joints,
        'actuators': binding.actuators,
        'passive_joints': transmission.passive_joints,
        'actuators_turn': transmission.actuators_turn,
        'domain': domain and (domain.space, domain.lower, domain.upper),
        'reads': reads,
        'numbers': numbers,
    }
