# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Describe the transmissions of a robot for the plugin loader of ros2_control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from xml.sax.saxutils import quoteattr

from transmission_bridge.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.tools.compiler.c_writer import fill_template, quote
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
    for index, binding in list_loadable(compiled.robot).items():
        spec = binding.spec
        # An implied actuator has the path of its transmission, and a name of ros2_control.
        joints = [end.name for end in spec.joints]
        actuators = ['actuator1' if x.path == spec.path else x.name for x in spec.actuators]
        places = [f"joint '{name}', " for name in joints]
        places += [f"actuator '{name}', " for name in actuators]
        texts = {'plugin': spec.type, 'joints': f'{len(joints)}', 'actuators': f'{len(actuators)}'}
        for place, end in zip(places, (*spec.joints, *spec.actuators), strict=True):
            texts[f'{place}role'] = end.role
            texts[f'{place}mechanical_reduction'] = _write(end.mechanical_reduction)
            texts[f'{place}offset'] = _write(end.offset)
        for parameter in spec.parameters:
            if parameter.path.rpartition('/')[2].partition('[')[0] == 'param':
                texts[f"parameter '{parameter.name}'"] = parameter.value
        words = (
            str(index),
            str(index in compiled.owners(ACTUATOR_TO_JOINT)).lower(),
            braces(map(quote, joints)),
            braces(map(quote, actuators)),
            braces(map(str, binding.passive)),
            braces(braces(map(quote, pair)) for pair in texts.items()),
        )
        yield braces(words, ',\n   ')


def _write(number: float) -> str:
    """Return a number as texts have it, without a zero behind the point."""
    return repr(number).removesuffix('.0')


def braces(words: Iterable[str], separator: str = ', ') -> str:
    """Return an initializer of C++."""
    return f'{{{separator.join(words)}}}'
