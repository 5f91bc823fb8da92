# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Describe the transmissions of a robot for the plugin loader of ros2_control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    found = list_loadable(compiled.robot)
    types = dict.fromkeys(each.spec.type for each in found.values())
    names = ', '.join(each.spec.name for each in found.values())
    classes = [
        f'  <class name={quoteattr(each)} type="{compiled.name}_plugin::Loader"\n'
        '         base_class_type="transmission_interface::TransmissionLoader"/>'
        for each in types
    ]
    rows = [f'  {_describe(compiled, index, each)}' for index, each in found.items()]
    texts = {
        key: fill_template(template, compiled.name, {'ROBOT': ''})
        for key, template in (('PLUGIN', 'plugin.cmake'), ('PLUGIN_SECTION', 'plugin.md'))
    }
    return {
        **texts,
        'CLASSES': '\n'.join(classes),
        'EXPECTED': quote(f'one of {names}'),
        'TRANSMISSIONS': ',\n'.join(rows),
    }


def _describe(compiled: CompiledRobot, index: int, binding: Binding) -> str:
    """Return an initializer of ``Description``."""
    spec, joint_names = binding.spec, compiled.robot.joint_names
    # The actuator that a block implies has the path of its transmission. ros2_control names it.
    implied = {each.name: 'actuator1' for each in spec.actuators if each.path == spec.path}
    infos, members = [], []
    for ends, places, owned in (
        (spec.joints, binding.joints, len(spec.joints) * (True,)),
        (spec.actuators, binding.actuators, binding.owned),
    ):
        names = [quote(implied.get(each.name, each.name)) for each in ends]
        infos.append(braces(map(_describe_end, names, ends)))
        rows = zip(names, map(str, places), map(_boolean, owned), strict=True)
        members.append([braces(row) for row in rows])
    members[0] += [braces((quote(joint_names[k]), str(k), 'true')) for k in binding.passive]
    parameters = braces(
        braces((quote(each.name), quote(each.value)))
        for each in spec.parameters
        if each.path.rpartition('/')[2].partition('[')[0] == 'param'
    )
    lines = [braces((quote(spec.name), quote(spec.type), *infos, parameters), ',\n   ')]
    lines.append(_boolean(index in compiled.owners(ACTUATOR_TO_JOINT)))
    return braces((*lines, *map(braces, members)), ',\n   ')


def _describe_end(name: str, end: TransmissionEnd) -> str:
    """Return an initializer of ``JointInfo`` or ``ActuatorInfo``."""
    numbers = (end.mechanical_reduction, end.offset)
    return braces((name, '{}', '{}', quote(end.role), *map(literal, numbers)))


def braces(words: Iterable[str], separator: str = ', ') -> str:
    """Return an initializer of C++."""
    return f'{{{separator.join(words)}}}'


def _boolean(value: bool) -> str:
    return 'true' if value else 'false'
