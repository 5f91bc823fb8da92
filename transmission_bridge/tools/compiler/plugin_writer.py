# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Describe the transmissions of a robot for the plugin loader of ros2_control."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from transmission_bridge.tools.compiler.c_writer import fill_template, quote
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.transmissions.binding import Binding
from transmission_bridge.transmissions.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.transmissions.robot import Robot

#: Types that ros2_control has.
_KNOWN_TYPES = {
    f'transmission_interface/{each}Transmission'
    for each in ('Simple', 'Differential', 'FourBarLinkage')
}


def find_loadable(robot: Robot) -> dict[int, Binding]:
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
    found, name = find_loadable(compiled.robot), compiled.name
    classes = [
        f'  <class name={quoteattr(each)} type="{name}_plugin::Loader"\n'
        '         base_class_type="transmission_interface::TransmissionLoader"/>'
        for each in dict.fromkeys(each.spec.type for each in found.values())
    ]
    return {
        'PLUGIN': fill_template('plugin.cmake', name, {}),
        'PLUGIN_SECTION': fill_template('plugin.md', name, {}),
        'DEPENDS': '  <depend>pluginlib</depend>\n  <depend>transmission_interface</depend>',
        'CLASSES': '\n'.join(classes),
        'EXPECTED': quote(f'one of {", ".join(each.spec.name for each in found.values())}'),
        'TRANSMISSIONS': ',\n'.join(f'  {_describe(compiled, each)}' for each in found.items()),
    }


def _describe(compiled: CompiledRobot, numbered: tuple[int, Binding]) -> str:
    """Return an initializer of ``Description``."""
    index, binding = numbered
    spec, joint_names = binding.spec, compiled.robot.joint_names
    # The actuator that a block implies has the path of its transmission. ros2_control names it.
    implied = {each.name: 'actuator1' for each in spec.actuators if each.path == spec.path}
    facts = [f'plugin {spec.type}']
    for side, ends in (('joint', spec.joints), ('actuator', spec.actuators)):
        facts += [
            f"{side} '{implied.get(each.name, each.name)}', role {each.role}, mechanical_reduction "
            f'{each.mechanical_reduction:.17g}, offset {each.offset:.17g}'
            for each in ends
        ]
    facts += [
        f"parameter '{each.name}', {each.value}"
        for each in spec.parameters
        if each.path.rpartition('/')[2].partition('[')[0] == 'param'
    ]
    is_varying = index in compiled.owners(ACTUATOR_TO_JOINT)
    joints = [(joint_names[each], each, True) for each in binding.all_joints]
    names = [implied.get(each.name, each.name) for each in spec.actuators]
    actuators = list(zip(names, binding.actuators, binding.owned, strict=True))
    return _initializer((spec.name, is_varying, len(spec.joints), joints, actuators, facts))


def _initializer(value: object) -> str:
    """Return a value in C++."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (list, tuple)):
        return f'{{{", ".join(map(_initializer, value))}}}'
    return str(value).lower()
