# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Everything that decides the maps in a folder of C, as values by name.

Folders of users contain the names: a renamed entry is a difference in ``compile --check``. The
header contains the hash of the text. Only ``command`` calls this module; a fingerprint is JSON and
is not changed after it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
import hashlib
from importlib.metadata import version
import json
import math
from pathlib import Path
import re
from typing import Any

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.description import ParameterSpec
from transmission_bridge.interfaces import JOINT_TO_ACTUATOR
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.transmissions import Binding, Registry, RobotTransmissions
from transmission_bridge.transmissions.linkage import list_linkage_joints
from transmission_bridge.transmissions.robot import CONSTANTS, UNITS

#: The file in the folder.
FILE = 'fingerprint.json'

#: The entry with the hash of the functions. It covers what has no name of its own, such as the
#: code of a type, and therefore changes with most other entries.
FUNCTIONS = 'functions'

Fingerprint = Mapping[str, Any]


def make_fingerprint(compiled: CompiledRobot, whole: RobotTransmissions) -> Fingerprint:
    """
    Return what decides the maps of a robot: numbers, types, joints, units and versions by name.

    :param compiled: The functions of the robot or of a part of it.
    :param whole: The whole robot.
    """
    robot, find_provider = compiled.robot, cache(Registry().find_provider)
    in_loop = dict.fromkeys(robot.joint_names, False)
    entries: dict[str, Any] = {
        'name': compiled.name,
        'transmission_bridge': version('transmission_bridge'),
        'casadi': version('casadi'),
        'actuators': robot.actuator_names,
        'joints': robot.joint_names,
    }
    for binding in robot.bindings:
        type_name, path = binding.spec.type, f'{PREFIX}{binding.spec.name}'
        entries[f'{path}.type'] = type_name
        if type_name:
            entries[f'{path}.provider'] = find_provider(type_name)
        entries.update(_list_transmission(binding))
        in_loop |= dict.fromkeys(
            list_linkage_joints(whole.description, binding.spec, fixed=True), True
        )
    for name, tunables in robot.named_tunables.items():
        if values := [tunable.value for tunable in tunables if tunable.is_of_map]:
            entries[PREFIX + name] = values[0] if len(values) == 1 else values
    for joint in whole.description.joints:
        prefix = f'joints.{joint.name}'
        if joint.name in in_loop:
            entries[f'{prefix}.type'] = joint.type
        if in_loop.get(joint.name):
            entries |= {
                f'{prefix}.links': [joint.parent, joint.child],
                f'{prefix}.axis': joint.axis,
            }
            for part in ('origin', 'mimic', 'limits'):
                numbers = asdict(spec) if (spec := getattr(joint, part)) else {}
                for name, number in numbers.items():
                    if name not in ('velocity', 'effort'):
                        entries[f'{prefix}.{part}.{name}'] = number
    # Other machines round differently, and the tables stand after the numbers of both directions.
    text = re.sub(r'/\*.*?\*/', '', compiled.functions, flags=re.DOTALL)
    text = re.sub(r'\b\d+\.\d*(e[+-]?\d+)?', lambda number: _rounded(float(number[0])), text)
    live = compiled.live.values[: compiled.live.places[JOINT_TO_ACTUATOR].stop].tolist()
    entries[FUNCTIONS] = hash_fingerprint(f'{text}{" ".join(map(_rounded, live))}')
    made: Fingerprint = json.loads(json.dumps(entries, allow_nan=False))
    return made


def write_fingerprint(fingerprint: Fingerprint) -> str:
    """Return the text of the file."""
    return json.dumps(fingerprint, indent=1, ensure_ascii=False) + '\n'


def hash_fingerprint(text: str) -> str:
    """Return the hash that the header has."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_fingerprint(folder: str) -> Fingerprint:
    """
    Read the fingerprint of a folder.

    :raises UsageError: If it cannot be read, or its header is of another compilation.
    """
    try:
        text = (Path(folder) / FILE).read_text(encoding='utf-8')
        fingerprint: Fingerprint = json.loads(text)
        header = Path(folder) / 'include' / f'{fingerprint["name"]}.h'
        if f'"{hash_fingerprint(text)}"' in header.read_text(encoding='utf-8'):
            return fingerprint
        reason = f'{header} has the hash of another one'
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error)
    raise UsageError(
        f"--check: expected a folder of 'transmission_bridge compile' with {FILE}: {reason}"
    )


def list_fingerprint_differences(compiled: Fingerprint, robot: Fingerprint) -> list[str]:
    """Return a line for each entry that differs."""
    lines = []
    for name in dict.fromkeys((*compiled, *robot)):
        one, other = compiled.get(name), robot.get(name)
        is_number = isinstance(one, float) and isinstance(other, float)
        # Lengths that a type computes are rounded by the machine.
        is_close = is_number and math.isclose(compiled[name], robot[name], rel_tol=1e-12)
        if one != other and not is_close:
            values = (each.get(name, 'none') for each in (compiled, robot))
            words = (x if type(x) is str else json.dumps(x, ensure_ascii=False) for x in values)
            lines.append('{}: compiled {}, robot {}'.format(name, *words))
    return lines if len(lines) < 2 else [x for x in lines if not x.startswith(f'{FUNCTIONS}: ')]


def _list_transmission(binding: Binding) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a transmission that are not live numbers or limits of actuators."""
    spec, prefix = binding.spec, f'{PREFIX}{binding.spec.name}'
    paths = [tunable.path for tunable in binding.tunables]
    numbers = {path[:n] for path in paths for n in range(len(path) + 1)}
    numbers |= {(*path[:2], path[-1]) for path in paths if path[2:3] == ('limit',)}
    owners: list[tuple[tuple[str, ...], Sequence[ParameterSpec]]] = [((), spec.parameters)]
    for side, members in (('joints', spec.joints), ('actuators', spec.actuators)):
        yield f'{prefix}.{side}', [member.name for member in members]
        for member in members:
            owners.append(((side, member.name), member.parameters))
            for number in ('mechanical_reduction', 'offset'):
                yield f'{prefix}.{side}.{member.name}.{number}', getattr(member, number)
    for path, parameters in owners:
        left = [
            parameter
            for parameter in parameters
            if (*path, parameter.name) not in numbers
            and parameter.name not in {*UNITS, *CONSTANTS}
        ]
        yield from _list_parameters('.'.join((prefix, *path)), left)
    for actuator, is_owned in zip(spec.actuators, binding.owned, strict=True):
        yield f'{prefix}.actuators.{actuator.name}.commanded', is_owned
        if units := binding.units.get(actuator.name):
            texts = [f'{unit.text or "SI"} ({unit.scale!r})' for unit in units.all_units]
            yield f'{prefix}.actuators.{actuator.name}.units', texts


def _list_parameters(
    prefix: str, parameters: Sequence[ParameterSpec]
) -> Iterator[tuple[str, str]]:
    """Yield the texts of elements; equal names are numbered."""
    names = [parameter.name for parameter in parameters]
    for index, parameter in enumerate(parameters):
        name = parameter.name
        several = f'.{names[:index].count(name) + 1}' * (names.count(name) > 1)
        start = f'{prefix}.{name}{several}'
        if parameter.value:
            yield start, parameter.value
        for attribute in parameter.attributes:
            if attribute != ('name', name):
                yield f'{start}.{attribute[0]}', attribute[1]
        yield from _list_parameters(start, parameter.children)


def _rounded(number: float) -> str:
    return '0' if abs(number) < 1e-12 else f'{number:.6g}'
