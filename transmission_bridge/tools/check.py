# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge check``: the content of a description, and its findings.

The text is made from the JSON and the findings alone. Programs of users read the keys of the JSON,
editors the form ``file:line: severity: message``, and scripts the exit code; sentences and tables
are free. No other command uses this module.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
import math
import re
from typing import Any

from transmission_bridge.bridge import (
    list_command_names,
    warn_of_endless_commands,
    warn_of_implausible_numbers,
    warn_of_several_interfaces,
)
from transmission_bridge.bridge.options import list_parameter_names, PREFIX
from transmission_bridge.description import (
    Finding,
    JointSpec,
    RejectedSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import counted, DescriptionError, in_other_unit
from transmission_bridge.interfaces import FIELDS
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    measure_text,
    printable,
    ToolResult,
    wrap_text,
)
from transmission_bridge.tools.limit_report import (
    COLUMNS,
    describe_limits,
    format_range,
    report_transmission_limits,
    warn_of_shared_limits,
    warn_of_wide_limits,
)
from transmission_bridge.tools.robot import BridgeSetup, read_bridge_setup, read_robot_file
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.linkage import list_linkage_joints

#: By unit: longer origins are probably in millimetres, larger angles in degrees. It decides which
#: descriptions have a warning, and may change.
_LARGEST = {'m': 4.0, 'rad': 2.0 * math.pi}


def warn_of_linkage_mistakes(robot: RobotTransmissions) -> Iterator[Finding]:
    """Yield a warning for each ``<origin>``, loop and motor that is probably wrong."""
    for spec in robot.description.transmissions:
        names = list_linkage_joints(robot.description, spec, fixed=True)
        joints = [joint for joint in robot.description.joints if joint.name in names]
        if not joints:
            continue
        for joint in joints:
            for unit, values in (('m', joint.origin.xyz), ('rad', joint.origin.rpy)):
                value = max(values, key=abs)
                if abs(value) > _LARGEST[unit]:
                    text = f"<origin> of joint '{joint.name}' is probably in another unit"
                    guess = in_other_unit(value, unit)
                    yield Finding.about(joint, 'warning', f'{text}; check it', unit, guess)
        first: dict[frozenset[str], int | None] = {}
        for loop in (parameter for parameter in spec.parameters if parameter.name == 'loop'):
            frames = frozenset(text for name, text in loop.attributes if name.startswith('frame'))
            if frames in first:
                text, other = 'two loops have the same frames', f'those of line {first[frames]}'
                yield Finding.about(loop, 'warning', text, 'other frames', other)
            first.setdefault(frames, loop.line)
        yield from _warn_of_wrong_motors(spec, joints)


def _warn_of_wrong_motors(spec: TransmissionSpec, joints: list[JointSpec]) -> Iterator[Finding]:
    """Yield motors if all turn commanded joints, so that no loop has a use, and powerless ones."""
    driven: dict[str, Any] = {}
    for actuator in spec.actuators:
        named: dict[str, Any] = {x.value: x for x in actuator.parameters if x.name == 'joint'}
        driven |= named or {actuator.name: actuator}
    commanded = {joint.name for joint in spec.joints}
    weak = {joint.name for joint in joints if joint.limits and joint.limits.effort == 0.0}
    for name, element in driven.items():
        if driven.keys() <= commanded or (name in weak and not driven.keys() <= weak):
            what = 'is commanded itself' if name in commanded else 'has an effort limit of zero'
            expected = 'the joint that the motor turns, for example of a crank'
            text = f"a motor turns joint '{name}', which {what}"
            yield Finding.about(element, 'warning', text, expected, repr(name))


def check(
    data: bytes, setup: BridgeSetup, *, strict: bool
) -> tuple[dict[str, Any], list[Finding]]:
    """
    Read a description, load its transmissions, and collect all findings.

    :param setup: The parameters of its bridge.
    :param strict: Report warnings as errors if
        :func:`~transmission_bridge.description.load_description` in strict mode rejects the
        description.
    :returns: The output of ``--json``, from which the text is made, and the findings in the order
        of the file. ``max_step`` does not check the joints in ``without_velocity_limit``.
    :raises UsageError: If a parameter does not fit the robot.
    """
    try:
        transmissions, notes = setup.robot(data)
        findings = [*(Finding('warning', note) for note in notes), *transmissions.findings]
    except DescriptionError as error:
        details = {key: getattr(error, key) for key in ('line', 'path', 'expected', 'found')}
        findings = [Finding('error', error.message, **details)]
        transmissions = RobotTransmissions(RobotDescription(name=''))
    robot = transmissions.description
    findings += (
        *warn_of_implausible_numbers(transmissions),
        *warn_of_linkage_mistakes(transmissions),
        *warn_of_endless_commands(robot),
        *warn_of_several_interfaces(robot),
        *warn_of_shared_limits(transmissions),
    )
    loaded: dict[str, Mapping[str, Any]] = {}
    for binding in transmissions.bindings:
        limits = report_transmission_limits(transmissions, binding)
        findings += warn_of_wide_limits(transmissions, binding, limits)
        loaded[binding.spec.name] = {
            'facts': list(binding.transmission.facts()),
            **describe_limits(transmissions, binding, limits),
        }
    findings += list_parameter_names(transmissions).findings
    if strict:
        findings = [replace(x, severity='error') if x.fatal_if_strict else x for x in findings]
    findings.sort(key=lambda finding: finding.line or 0)
    specs: list[TransmissionSpec | RejectedSpec] = [*robot.transmissions, *robot.rejected]
    specs.sort(key=lambda spec: spec.line or 0)
    document = {
        'robot': robot.name,
        'transmissions': [_describe_transmission(spec, loaded, setup.numbers) for spec in specs],
        'pass_through': list(transmissions.pass_through),
        'not_bridged': list(transmissions.lost_joints),
        'without_velocity_limit': list(_list_unlimited_joints(transmissions)),
        'units': {
            name: {
                field: {'unit': unit.text or 'SI', 'scale': unit.scale}
                for field, unit in zip(FIELDS, units.all_units, strict=True)
            }
            for name, units in transmissions.units.items()
        },
        'findings': [
            {'severity': x.severity, 'line': x.line, 'path': x.path, 'message': x.text}
            for x in findings
        ],
    }
    return document, findings


def _list_unlimited_joints(robot: RobotTransmissions) -> Iterator[str]:
    """Yield the joints with a position command and without a velocity limit."""
    for name, index in list_command_names(robot).commandable.items():
        declared = [part for block in robot.description.blocks if (part := block.component(name))]
        commands = {command.name for part in declared for command in part.command_interfaces}
        is_limited = math.isfinite(robot.joint_limits[1, FIELDS.index('velocity'), index])
        if (not declared or FIELDS[0] in commands) and not is_limited:
            yield name


def _describe_transmission(
    spec: TransmissionSpec | RejectedSpec,
    loaded: Mapping[str, Mapping[str, Any]],
    tuned: Mapping[str, float],
) -> dict[str, Any]:
    """Return a transmission, with tuned numbers in place of described ones."""
    limits = loaded.get(spec.name) if isinstance(spec, TransmissionSpec) else None
    document = {key: getattr(spec, key) for key in ('name', 'type', 'dialect', 'line')}
    document['loaded'] = limits is not None
    for side in ('joints', 'actuators'):
        document[side] = []
        for member in getattr(spec, side):
            entry = {'name': getattr(member, 'name', member)}
            path = f'{PREFIX}{spec.name}.{side}.{entry["name"]}.'
            for key in ('role', 'mechanical_reduction', 'offset'):
                entry[key] = tuned.get(path + key, getattr(member, key, None))
            document[side].append(entry)
    return {**document, **(limits or {})}


# -- text ----------------------------------------------------------------------------------------


#: Keys of the JSON that are lists of joints, in the order of the text, and their titles.
_JOINTS = {
    'pass_through': 'passed through (no transmission)',
    'without_velocity_limit': 'without a velocity limit (max_step does not check them)',
    'not_bridged': 'not bridged (transmission rejected)',
}


def list_check_lines(
    document: Mapping[str, Any], findings: Sequence[Finding], file: str, width: int | None
) -> Iterator[str]:
    """
    Yield the lines of the text for a terminal.

    Findings have the form ``file:line: severity: message``, which editors and terminals recognise.
    Findings that differ only in names and lines are combined.

    :param document: The output of ``--json``, see :func:`check`.
    :param findings: The same findings as in it, with their parts.
    :param file: The file's name, as the user gave it.
    :param width: Columns to wrap at, ``None``: no wrapping.
    """
    robot, transmissions = document['robot'], document['transmissions']
    blocks: list[Iterable[str]] = []
    if robot or transmissions:
        blocks.append([wrap_text(f"robot '{printable(robot)}' in {printable(file)}", width)])
    if transmissions:
        blocks.append(_list_table_lines(transmissions, document['units'], width))
    for transmission in transmissions:
        if facts := transmission.get('facts'):
            texts = (f"'{transmission['name']}'", *(f'  {fact}' for fact in facts))
            blocks.append(wrap_text(printable(text), width) for text in texts)
    ratios = [
        (ratio['actuator'], 'per', ratio['joint'], format_range(ratio['ratio']), ratio['unit'])
        for transmission in transmissions
        for ratio in transmission.get('ratios', ())
    ]
    if ratios:
        title = wrap_text('ratios that vary, over the allowed positions', width)
        blocks.append([title, *(f'  {line}' for line in align_rows(ratios, right=(3,)))])
    for key, title in _JOINTS.items():
        if joints := document[key]:
            count = counted(len(joints), 'joint')
            blocks.append([wrap_text(f'{count} {title}: {printable(", ".join(joints))}', width)])
    if findings:
        blocks.append(
            wrap_text(line, width) for line in _list_finding_lines(findings, transmissions, file)
        )
    for block in blocks:
        yield from (*block, '')
    severities = Counter(finding.severity for finding in findings)
    loaded = sum(transmission['loaded'] for transmission in transmissions)
    rejected = len(transmissions) - loaded
    parts = [f'{counted(loaded, "transmission")} loaded']
    parts += [f'{rejected} rejected'] * bool(rejected)
    yield ', '.join([*parts, *(counted(severities[key], key) for key in ('error', 'warning'))])


def _list_table_lines(
    transmissions: Sequence[dict[str, Any]], units: Mapping[str, Any], width: int | None
) -> Iterator[str]:
    """Yield a line for each transmission, and the rows of its members below it."""
    tables = [list(_list_rows(transmission, units)) for transmission in transmissions]
    rows = [('', '', 'REDUCTION', 'OFFSET', *map(str.upper, COLUMNS), 'UNIT')]
    heading, *lines = align_rows([*rows, *chain(*tables)], right=range(2, 8))
    yield f'  {heading}'
    for part, table in zip(transmissions, tables, strict=True):
        line = '' if part['line'] is None else f'line {part["line"]}: '
        name = f'{line}{"" if part["loaded"] else "REJECTED "}{printable(part["name"])}'
        type_name = f'{printable(part["type"]) or "no type"} ({part["dialect"]})'
        if width is None or measure_text(name) + measure_text(type_name) + 2 <= width:
            yield f'{name}  {type_name}'
        else:
            yield from (name, f'    {type_name}')
        yield from (f'  {row}' for row in lines[: len(table)])
        del lines[: len(table)]


def _list_rows(part: Mapping[str, Any], units: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each member, and below actuators their own limits and the driver's units."""
    for kind, side in (('joint', 'joints'), ('actuator', 'actuators')):
        for number, member in enumerate(part[side]):
            role = member['role'] or kind
            role = role if role.startswith(kind) else f'{kind} {role}'
            numbers = (member[key] for key in ('mechanical_reduction', 'offset'))
            exact = ['?' if x is None else repr(x).removesuffix('.0') for x in numbers]
            limits = part[f'{kind}_limits'][number] if part['loaded'] else None
            yield (role, member['name'], *exact, *_list_cells(limits))
            if kind == 'joint' or limits is None:
                continue
            stated, of_driver = part['own_actuator_limits'][number], units.get(member['name'])
            if any(stated[column] is not None for column in COLUMNS):
                yield ('', '  own limits', '', '', *_list_cells(stated))
            if of_driver:
                yield ('', '  in its driver', '', '', *_list_cells(limits, of_driver))


def _list_cells(
    limits: Mapping[str, Any] | None, units: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Return the limits of a member in SI, or in the units of its driver, and their unit."""
    if limits is None:
        return ('',) * (len(COLUMNS) + 1)
    values = [limits[column] for column in COLUMNS]
    if units is None:
        return (*map(format_range, values), limits['units'][FIELDS[0]])

    def scale(value: Any, field: str) -> Any:
        if isinstance(value, list):
            return [scale(end, field) for end in value]
        if not isinstance(value, float):
            return value
        number = value / units[field]['scale']
        is_tick = field == FIELDS[0] and units[field]['unit'] == 'tick'
        return float(round(number)) if is_tick else number

    scaled = map(scale, values, (FIELDS[0], *FIELDS))
    return (*map(format_range, scaled), ', '.join(units[field]['unit'] for field in FIELDS))


def _list_finding_lines(
    findings: Iterable[Finding], transmissions: Iterable[Mapping[str, Any]], file: str
) -> Iterator[str]:
    """Yield a line for the findings that differ only in names and lines."""
    names = {
        member['name']
        for part in transmissions
        for member in (part, *part['joints'], *part['actuators'])
    }
    groups: dict[tuple[str, str], list[tuple[Finding, str]]] = {}
    for finding in findings:
        # Only the JSON has the traceback of a plugin.
        text = replace(finding, message=finding.message.partition('\n')[0]).text
        alike = re.sub("'([^']*)'", lambda x: "''" if x[1] in names else x[0], text)
        groups.setdefault((finding.severity, alike), []).append((finding, text))
    for group in groups.values():
        first, text = group[0]
        location = file if first.line is None else f'{file}:{first.line}'
        where = f' [{first.path}]' if first.path else ''
        if len(group) > 1:
            text = f'{len(group)} times: {text}'
            lines = dict.fromkeys(str(finding.line) for finding, _ in group if finding.line)
            where = f' [lines {", ".join(lines)}]' if len(lines) > 1 else ''
        yield printable(f'{location}: {first.severity}: {text}{where}')


def run(options: argparse.Namespace, console: Console) -> ToolResult:
    """Run the command: exit code 1 if a finding is an error, which ``--strict`` makes of more."""
    data, setup = read_robot_file(options.file), read_bridge_setup(options)
    document, findings = check(data, setup, strict=options.strict)
    return ToolResult(
        list_check_lines(document, findings, options.file, console.out.width),
        document,
        Exit.ERRORS if any(finding.severity == 'error' for finding in findings) else Exit.OK,
    )
