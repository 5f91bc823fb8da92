# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Describe the transmissions of a robot for the plugin loader of ros2_control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import quoteattr

from transmission_bridge.description import TransmissionEnd
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.tools.compiler.c_writer import fill_template, literal, quote
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.transmissions import Binding
from transmission_bridge.transmissions.robot import Robot

#: Types that ros2_control has.
_KNOWN_TYPES = {
    f'transmission_interface/{each}Transmission'
    for each in ('Simple', 'Differential', 'FourBarLinkage')
}


def list_loadable(robot: Robot) -> dict[int, Binding]:
    """
    Return the transmissions that need a plugin, by their index.

    ros2_control reads only those inside of ``<ros2_control>``.
    """
    return {
        index: each
        for index, each in enumerate(robot.bindings)
        if each.spec.dialect == 'ros2_control'
        and not each.is_identity
        and each.spec.type not in _KNOWN_TYPES
    }


def list_plugin_values(compiled: CompiledRobot) -> Mapping[str, str]:
    """Return the values of the templates with a plugin."""
    types = dict.fromkeys(x.spec.type for x in list_loadable(compiled.robot).values())
    classes = [
        f'  <class name={quoteattr(each)} type="{compiled.name}_mapped::Loader"\n'
        '         base_class_type="transmission_interface::TransmissionLoader"/>'
        for each in types
    ]
    texts = {
        key: fill_template(template, compiled.name, {'ROBOT': ''})
        for key, template in (('PLUGIN', 'plugin.cmake'), ('PLUGIN_SECTION', 'plugin.md'))
    }
    return {**texts, 'CLASSES': '\n'.join(classes)}


def list_loadable_rows(compiled: CompiledRobot) -> Iterator[str]:
    """Yield initializers of ``Loadable``."""
    names = compiled.robot.joint_names
    for index, binding in list_loadable(compiled.robot).items():
        spec = binding.spec
        # An implied actuator has the path of its transmission, and a name of ros2_control.
        implied = {each.name: 'actuator1' for each in spec.actuators if each.path == spec.path}
        sides = zip(spec.joints, binding.joints, strict=True)
        joints = (_describe_end(end.name, k, True, end) for end, k in sides)
        members = zip(spec.actuators, binding.actuators, binding.owned, strict=True)
        actuators = (
            _describe_end(implied.get(end.name, end.name), k, is_owned, end)
            for end, k, is_owned in members
        )
        passive = (_describe_end(names[k], k, True) for k in binding.passive)
        parameters = braces(
            braces((quote(parameter.name), quote(parameter.value)))
            for parameter in spec.parameters
            if parameter.path.rpartition('/')[2].partition('[')[0] == 'param'
        )
        is_mechanism = _boolean(index in compiled.owners(ACTUATOR_TO_JOINT))
        ends = map(braces, (joints, actuators, passive))
        words = (quote(spec.name), quote(spec.type), is_mechanism, *ends, parameters)
        yield braces(words, ',\n   ')


def _describe_end(
    name: str, place: int, is_output: bool, end: TransmissionEnd | None = None
) -> str:
    """Return an initializer of ``End``; a passive joint has no element."""
    role, numbers = '', (1.0, 0.0)
    if end is not None:
        role, numbers = end.role, (end.mechanical_reduction, end.offset)
    words = (quote(name), str(place), _boolean(is_output), quote(role), *map(literal, numbers))
    return braces(words)


def braces(words: Iterable[str], separator: str = ', ') -> str:
    """Return an initializer of C++."""
    return f'{{{separator.join(words)}}}'


def _boolean(value: bool) -> str:
    return 'true' if value else 'false'
