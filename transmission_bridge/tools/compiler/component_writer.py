# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Describe a robot for its hardware component of ros2_control.

The component reads the numbers of the description that it is given, and compares everything else
that decides the maps with what was compiled: facts, which are texts by their place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import itertools
import re

from transmission_bridge.description.document import (
    description_text,
    Element,
    NumberEditor,
    parse_xml,
)
from transmission_bridge.tools.compiler.c_writer import fill_template, literal, quote
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.tools.compiler.plugin_writer import braces, list_loadable_rows
from transmission_bridge.tools.export import write_number
from transmission_bridge.transmissions import ACTUATOR_LIMITS, Binding, RobotTransmissions, Tunable
from transmission_bridge.transmissions.linkage import linkage_joints
from transmission_bridge.transmissions.robot import ActuatorUnits

#: The geometry of a joint in a loop; of others the type alone counts.
_GEOMETRY = (
    *('/parent/link', '/child/link', '/origin/xyz', '/origin/rpy', '/axis/xyz'),
    *('/mimic/joint', '/mimic/multiplier', '/mimic/offset', '/limit/lower', '/limit/upper'),
)

#: Numbers that no description has mark the places of live ones while the facts are collected.
_MARK = 1e200
_MARKED = re.compile(r'1\.\d+e\+200')


@dataclass(frozen=True)
class _Number:
    """
    A number that the component reads.

    :param tunable: The number.
    :param live: Its index in C, -1 without one.
    :param actuator: Index of the actuator whose limit it is, -1 without one.
    :param is_given: Whether a parameter file has its value: the description does not count.
    """

    tunable: Tunable
    live: int
    actuator: int
    is_given: bool

    @property
    def row(self) -> str:
        """The row of C."""
        side = [*ACTUATOR_LIMITS].index(self.tunable.path[-1]) if self.actuator >= 0 else 0
        words = (str(self.live), str(self.actuator), f'Side({side})', literal(self.tunable.value))
        return braces(words)


def list_component_values(
    compiled: CompiledRobot, whole: RobotTransmissions, data: bytes, given: Collection[str]
) -> Mapping[str, str]:
    """
    Return the values of the template.

    :param whole: The whole robot.
    :param data: Its description.
    :param given: Names of the numbers of parameter files.
    """
    robot = compiled.robot
    numbers = _list_numbers(compiled, given)
    units = [robot.units.get(name, ActuatorUnits()) for name in robot.actuator_names]
    files = [f'{each.tunable.name}: {each.tunable.value!r}' for each in numbers if each.is_given]
    members = [(t, x.joints, x.actuators, x.owned) for t, x in enumerate(robot.bindings)]
    owners = {joint: t for t, joints, _, _ in members for joint in joints}
    roles = {pair[0]: pair[1] for _, *ends, _ in members for pair in zip(*ends, strict=False)}
    commanded = {a: t for t, _, ends, owned in members for a in itertools.compress(ends, owned)}
    return {
        'COMPONENT': fill_template('component.cmake', compiled.name, {'ROBOT': ''}),
        'COMPONENT_SECTION': fill_template('component.md', compiled.name, {'ROBOT': ''}),
        'MEMBERS': _lines(map(_describe, robot.bindings)),
        'JOINT_OWNERS': _list_places(owners, robot.joint_names),
        'JOINT_ACTUATORS': _list_places(roles, robot.joint_names),
        'ACTUATOR_OWNERS': _list_places(commanded, robot.actuator_names),
        'SCALES': _lines(braces(literal(unit.scale) for unit in each.all_units) for each in units),
        'FACTS': _lines(_list_facts(compiled, whole, data, numbers)),
        'DESCRIPTION_NUMBERS': _lines(number.row for number in numbers),
        'OF_PARAMETER_FILES': _lines(map(quote, files)),
        'LOADABLES': _lines(list_loadable_rows(compiled)),
    }


def _describe(binding: Binding) -> str:
    """Return an initializer of ``Transmission``."""
    owned = [*itertools.compress(binding.actuators, binding.owned)]
    name = quote('' if binding.is_identity else binding.spec.name)
    return braces((name, *map(_indices, (binding.joints, binding.actuators, owned))))


def _list_numbers(compiled: CompiledRobot, given: Collection[str]) -> list[_Number]:
    """Return live numbers, limits of actuators, and fixed numbers of parameter files."""
    live = [tunable.name for tunable in compiled.live.tunables]
    names, numbers = compiled.robot.actuator_names, []
    for parameter in compiled.robot.parameters.values():
        if parameter.is_flag:  # of interfaces that the component does not map
            continue
        is_limit = parameter.path[2:3] == ('limit',)
        actuator = names.index(parameter.path[1]) if is_limit else -1
        place = live.index(parameter.name) if parameter.name in live else -1
        if place >= 0 or is_limit or parameter.name in given:
            numbers.append(_Number(parameter, place, actuator, parameter.name in given))
    return numbers


def _list_facts(
    compiled: CompiledRobot, whole: RobotTransmissions, data: bytes, numbers: Sequence[_Number]
) -> Iterator[str]:
    """Yield initializers of ``Fact``, of joints with the transmission that they decide."""
    robot = compiled.robot
    now = _collect(parse_xml(description_text(_mark_numbers(compiled, data, numbers))))
    before = _collect(parse_xml(description_text(data)))
    # What a type does not read is a parameter of the driver.
    others = {finding.path for finding in whole.findings}
    for index, binding in enumerate(robot.bindings):
        spec, own = binding.spec, [robot.joint_names[joint] for joint in binding.all_joints]
        in_loops = linkage_joints(whole.description, spec, fixed=True)
        for name in sorted({*own, *in_loops}):
            texts = dict(_below(before, f'/joint[{name}]'))
            for path in ('/type', *(_GEOMETRY if name in in_loops else ())):
                text = texts.get(path, '')
                yield braces((str(index), *map(quote, (f'joint[{name}]{path}', text, text))))
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
        for path, text in _below(now, start):
            words = '*' if path in drivers else _name_numbers(text, numbers)
            cells = (f'transmission[{spec.name}]{path}', before.get(start + path, ''), words)
            yield braces((str(index), *map(quote, cells)))


def _mark_numbers(compiled: CompiledRobot, data: bytes, numbers: Sequence[_Number]) -> bytes:
    """Return the description with marks instead of numbers, also of those that it lacks."""
    marks = {each.tunable.name: _MARK * (1 + (k + 1) / 2**20) for k, each in enumerate(numbers)}
    editor = NumberEditor(data)
    for binding in compiled.robot.bindings:
        tunables = [
            replace(each, value=marks.get(each.name, each.value)) for each in binding.tunables
        ]
        for tunable in tunables:
            if tunable.name in marks:
                write_number(editor, binding.spec, tunables, tunable.path)
    return editor.result()


def _name_numbers(text: str, numbers: Sequence[_Number]) -> str:
    """Replace marks by '@' and the index of the number, or by '*' if a file has its value."""

    def name(found: re.Match[str]) -> str:
        k = round((float(found[0]) / _MARK - 1) * 2**20) - 1
        return '*' if numbers[k].is_given else f'@{k}'

    return _MARKED.sub(name, text)


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


def _below(texts: Mapping[str, str], start: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of an element and what is inside of it, by their places in it."""
    for path, text in texts.items():
        if path == start or path.startswith(f'{start}/'):
            yield path.removeprefix(start), text


def _indices(places: Sequence[int]) -> str:
    return braces(map(str, places))


def _list_places(places: Mapping[int, int], names: Sequence[str]) -> str:
    return ', '.join(str(places.get(k, -1)) for k in range(len(names)))


def _lines(rows: Iterable[str]) -> str:
    return ',\n'.join(f'  {row}' for row in rows)
