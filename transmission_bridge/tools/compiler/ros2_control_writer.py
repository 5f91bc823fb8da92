# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Describe a robot for its hardware component of ros2_control, and for the plugin loader.

The component reads the numbers of the description that it is given, and compares everything else
that decides the maps with what was compiled: facts, which are texts by their place. The
initializers have the types of ``mapped/types.hpp``, and :func:`_collect` makes places as the
component does: a change of one is a change of both. ``command`` passes the values to ``c_writer``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
import re
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from transmission_bridge.description.document import (
    description_text,
    DescriptionEditor,
    Element,
    parse_xml,
)
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT
from transmission_bridge.tools.compiler.c_writer import literal, quote_c
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.tools.export import write_tuned_number
from transmission_bridge.transmissions import ACTUATOR_LIMITS, Binding, RobotTransmissions, Tunable
from transmission_bridge.transmissions.linkage import list_linkage_joints
from transmission_bridge.transmissions.robot import ActuatorUnits

#: Packages of ROS that the files need; a plugin also needs the last one.
_DEPENDS = (
    'hardware_interface',
    'lifecycle_msgs',
    'pluginlib',
    'rclcpp',
    'tinyxml2_vendor',
    'transmission_interface',
)

#: Types that ros2_control has.
_KNOWN_TYPES = {
    f'transmission_interface/{each}Transmission'
    for each in ('Simple', 'Differential', 'FourBarLinkage')
}

#: The geometry of a joint in a loop; of others the type alone counts.
_GEOMETRY = (
    *('/parent/link', '/child/link', '/origin/xyz', '/origin/rpy', '/axis/xyz'),
    *('/mimic/joint', '/mimic/multiplier', '/mimic/offset', '/limit/lower', '/limit/upper'),
)

#: Numbers that no description has mark the places of live ones while the facts are collected.
_MARK = 1e200
_MARKED = re.compile(r'1\.\d+e\+200')


class _Number(NamedTuple):
    """
    A number that the component reads.

    :param tunable: The number.
    :param is_given: Whether a parameter file has its value: the description does not count.
    :param row: The initializer of ``Number``.
    """

    tunable: Tunable
    is_given: bool
    row: str


def list_ros2_control_values(
    compiled: CompiledRobot, whole: RobotTransmissions, data: bytes, given: Collection[str]
) -> dict[str, str]:
    """
    Return the values of the templates.

    :param whole: The whole robot.
    :param data: Its description.
    :param given: Names of the numbers of parameter files.
    """
    robot = compiled.robot
    numbers = _list_numbers(compiled, given)
    units = (robot.units.get(name, ActuatorUnits()) for name in robot.actuator_names)
    scales = ((literal(unit.scale) for unit in each.all_units) for each in units)
    members = [(t, each.joints, each.actuators) for t, each in enumerate(robot.bindings)]
    owned = [[*compress(each.actuators, each.owned)] for each in robot.bindings]
    of_actuators = {actuator: t for t, ends in enumerate(owned) for actuator in ends}
    of_joints = {joint: t for t, joints, _ in members for joint in joints}
    roles = {
        joint: actuator
        for _, joints, actuators in members
        for joint, actuator in zip(joints, actuators, strict=False)
    }
    names = ('' if each.is_identity else each.spec.name for each in robot.bindings)
    loadable = {
        index: each
        for index, each in enumerate(robot.bindings)
        if not each.is_identity and each.spec.type not in _KNOWN_TYPES
    }
    values = {
        'MEMBERS': _lines(
            _braces((quote_c(name), *(_braces(map(str, x)) for x in (joints, actuators, ends))))
            for name, (_, joints, actuators), ends in zip(names, members, owned, strict=True)
        ),
        **{
            key: ', '.join(str(places.get(k, -1)) for k in range(len(names)))
            for key, places, names in (
                ('JOINT_OWNERS', of_joints, robot.joint_names),
                ('JOINT_ACTUATORS', roles, robot.joint_names),
                ('ACTUATOR_OWNERS', of_actuators, robot.actuator_names),
            )
        },
        'SCALES': _lines(map(_braces, scales)),
        'FACTS': _lines(_list_facts(compiled, whole, data, numbers)),
        'DESCRIPTION_NUMBERS': _lines(number.row for number in numbers),
        'OF_PARAMETER_FILES': _lines(
            quote_c(f'{each.name}: {each.value!r}') for each, is_given, _ in numbers if is_given
        ),
        'LOADABLES': _lines(
            _describe_loadable(compiled, index, each) for index, each in loadable.items()
        ),
        'DEPENDS': '\n'.join(
            f'  <depend>{each}</depend>' for each in (_DEPENDS if loadable else _DEPENDS[:-1])
        ),
    }
    if loadable:
        types = dict.fromkeys(each.spec.type for each in loadable.values())
        values['CLASSES'] = '\n'.join(
            f'  <class name={quoteattr(each)} type="{compiled.name}_mapped::Loader"\n'
            '         base_class_type="transmission_interface::TransmissionLoader"/>'
            for each in types
        )
    return values


def _list_numbers(compiled: CompiledRobot, given: Collection[str]) -> list[_Number]:
    """Return live numbers, limits of actuators, and fixed numbers of parameter files."""
    live = [tunable.name for tunable in compiled.live.tunables]
    names, numbers = compiled.robot.actuator_names, []
    for parameter in compiled.robot.parameters.values():
        if parameter.is_flag:  # of interfaces that the component does not map
            continue
        is_limit, is_given = parameter.path[2:3] == ('limit',), parameter.name in given
        actuator = names.index(parameter.path[1]) if is_limit else -1
        side = [*ACTUATOR_LIMITS].index(parameter.path[-1]) if is_limit else 0
        place = live.index(parameter.name) if parameter.name in live else -1
        if place >= 0 or is_limit or is_given:
            words = (str(place), str(actuator), f'Side({side})', literal(parameter.value))
            numbers.append(_Number(parameter, is_given, _braces(words)))
    return numbers


# -- facts ---------------------------------------------------------------------------------------


def _list_facts(
    compiled: CompiledRobot, whole: RobotTransmissions, data: bytes, numbers: Sequence[_Number]
) -> Iterator[str]:
    """Yield initializers of ``Fact``, of joints with the transmission that they decide."""
    robot = compiled.robot

    def name_number(found: re.Match[str]) -> str:
        """Return '@' and the index of the number with a mark, or '*' if a file has its value."""
        k = round((float(found[0]) / _MARK - 1) * 2**20) - 1
        return '*' if numbers[k].is_given else f'@{k}'

    now = _collect(parse_xml(description_text(_mark_numbers(compiled, data, numbers))))
    before = _collect(parse_xml(description_text(data)))
    # What a type does not read is a parameter of the driver.
    others = {finding.path for finding in whole.findings}
    for index, binding in enumerate(robot.bindings):
        spec, own = binding.spec, [robot.joint_names[joint] for joint in binding.all_joints]
        in_loops = list_linkage_joints(whole.description, spec, fixed=True)
        for name in sorted({*own, *in_loops}):
            for path in ('/type', *(_GEOMETRY if name in in_loops else ())):
                text = before.get(f'/joint[{name}]{path}', '')
                yield _braces((str(index), *map(quote_c, (f'joint[{name}]{path}', text, text))))
        if binding.is_identity:
            continue
        (block,) = (x.name for x in whole.description.blocks if spec.path.startswith(f'{x.path}/'))
        drivers = {
            f'/actuator[{end.name}]/param[{parameter.name}]'
            for end in spec.actuators
            for parameter in end.parameters
            if parameter.path in others
        }
        start = f'/ros2_control[{block}]/transmission[{spec.name}]'
        for place, text in now.items():
            path = place.removeprefix(start)
            if place == start or (path != place and path[0] == '/'):
                words = '*' if path in drivers else _MARKED.sub(name_number, text)
                cells = (f'transmission[{spec.name}]{path}', before.get(place, ''), words)
                yield _braces((str(index), *map(quote_c, cells)))


def _mark_numbers(compiled: CompiledRobot, data: bytes, numbers: Sequence[_Number]) -> bytes:
    """
    Return the description with marks instead of numbers, also of those that it lacks.

    The mark of number ``k`` is ``_MARK (1 + (k + 1) / 2**20)``, from which its index is read
    again.
    """
    marks = {each.tunable.name: _MARK * (1 + (k + 1) / 2**20) for k, each in enumerate(numbers)}
    editor = DescriptionEditor(data)
    for binding in compiled.robot.bindings:
        tunables = [
            replace(each, value=marks.get(each.name, each.value)) for each in binding.tunables
        ]
        for tunable in tunables:
            if tunable.name in marks:
                write_tuned_number(editor, binding.spec, tunables, tunable.path)
    return editor.result()


def _collect(element: Element, path: str = '') -> dict[str, str]:
    """Return texts of elements and attributes by place, as the component collects them."""
    texts = {path: element.text} if element.text else {}
    texts |= {f'{path}/{key}': each for key, each in element.attributes.items() if key != 'name'}
    counts: dict[str, int] = {}
    for child in element.children:
        name = child.attributes.get('name')
        key = child.tag + (f'[{name}]' if name is not None else '')
        count = counts[key] = counts.get(key, -1) + 1
        texts |= _collect(child, f'{path}/{key}' + (f'#{count}' if count else ''))
    return texts


# -- plugin --------------------------------------------------------------------------------------


def _describe_loadable(compiled: CompiledRobot, index: int, binding: Binding) -> str:
    """Return an initializer of ``Loadable``."""
    spec, names = binding.spec, dict[str, list[str]]()
    ends = {'joint': spec.joints, 'actuator': spec.actuators}
    texts = {'plugin': spec.type, **{f'{kind}s': str(len(ends[kind])) for kind in ends}}
    for kind, members in ends.items():
        # An implied actuator has the path of its transmission, and a name of ros2_control.
        names[kind] = ['actuator1' if x.path == spec.path else x.name for x in members]
        for name, member in zip(names[kind], members, strict=True):
            place = f"{kind} '{name}', "
            texts[f'{place}role'] = member.role
            # As texts have numbers, without a zero behind the point.
            for number in ('mechanical_reduction', 'offset'):
                texts[place + number] = repr(getattr(member, number)).removesuffix('.0')
    for parameter in spec.parameters:
        if parameter.path.rpartition('/')[2].partition('[')[0] == 'param':
            texts[f"parameter '{parameter.name}'"] = parameter.value
    words = (
        str(index),
        str(index in compiled.owners[ACTUATOR_TO_JOINT]).lower(),
        *(_braces(map(quote_c, members)) for members in names.values()),
        _braces(map(str, binding.passive)),
        _braces(_braces(map(quote_c, pair)) for pair in texts.items()),
    )
    return _braces(words, ',\n   ')


def _braces(words: Iterable[str], separator: str = ', ') -> str:
    """Return an initializer of C++."""
    return f'{{{separator.join(words)}}}'


def _lines(rows: Iterable[str]) -> str:
    return ',\n'.join(f'  {row}' for row in rows)
