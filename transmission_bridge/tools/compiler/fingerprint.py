# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Everything that decides the maps in a folder of C, as values by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
import hashlib
from importlib.metadata import version
import json
import math
from pathlib import Path
import re
from typing import Any

from transmission_bridge.bridge.options import PREFIX
from transmission_bridge.description import JointSpec, ParameterSpec
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.compiler.compiled_robot import CompiledRobot
from transmission_bridge.transmissions import Binding, Registry, RobotTransmissions
from transmission_bridge.transmissions.linkage import linkage_joints
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
    robot, registry = compiled.robot, Registry()
    joints = dict.fromkeys(robot.joint_names, False)
    found: dict[str, Any] = {
        'name': compiled.name,
        'transmission_bridge': version('transmission_bridge'),
        'casadi': version('casadi'),
        'actuators': robot.actuator_names,
        'joints': robot.joint_names,
    }
    for binding in robot.bindings:
        known = binding.spec.type
        found[f'{PREFIX}{binding.spec.name}.type'] = known
        if known:
            found[f'{PREFIX}{binding.spec.name}.provider'] = registry.find_provider(known)
        found.update(_list_transmission(binding))
        joints |= dict.fromkeys(linkage_joints(whole.description, binding.spec, fixed=True), True)
    for name, tunables in robot.named_tunables.items():
        if values := [tunable.value for tunable in tunables if tunable.is_of_map]:
            found[PREFIX + name] = values[0] if len(values) == 1 else values
    for joint in whole.description.joints:
        if joint.name in joints:
            found.update(_list_joint(joint, joints[joint.name]))
    found[FUNCTIONS] = _hash_functions(compiled)
    made: Fingerprint = json.loads(json.dumps(found, allow_nan=False))
    return made


def write_text(fingerprint: Fingerprint) -> str:
    """Return the text of the file."""
    return json.dumps(fingerprint, indent=1, ensure_ascii=False) + '\n'


def hash_text(text: str) -> str:
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
        if f'"{hash_text(text)}"' in header.read_text(encoding='utf-8'):
            return fingerprint
        reason = f'{header} has the hash of another one'
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error)
    raise UsageError(
        f"--check: expected a folder of 'transmission_bridge compile' with {FILE}: {reason}"
    )


def list_differences(compiled: Fingerprint, robot: Fingerprint) -> list[str]:
    """Return a line for each entry that differs."""
    lines = [
        f'{name}: compiled {_word(compiled, name)}, robot {_word(robot, name)}'
        for name in dict.fromkeys((*compiled, *robot))
        if not _is_same(compiled.get(name), robot.get(name))
    ]
    return lines if len(lines) < 2 else [x for x in lines if not x.startswith(f'{FUNCTIONS}: ')]


def _is_same(one: object, other: object) -> bool:
    """Return whether values are equal; lengths that a type computes are rounded by the machine."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other


def _word(fingerprint: Fingerprint, name: str) -> str:
    value = fingerprint.get(name, 'none')
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list_transmission(binding: Binding) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a transmission that are not live numbers or limits of actuators."""
    spec, place = binding.spec, f'{PREFIX}{binding.spec.name}'
    paths = [tunable.path for tunable in binding.tunables]
    numbers = {path[:n] for path in paths for n in range(len(path) + 1)}
    numbers |= {(*path[:2], path[-1]) for path in paths if path[2:3] == ('limit',)}
    texts: list[tuple[tuple[str, ...], Sequence[ParameterSpec]]] = [((), spec.parameters)]
    for side, ends in (('joints', spec.joints), ('actuators', spec.actuators)):
        yield f'{place}.{side}', [end.name for end in ends]
        for end in ends:
            texts.append(((side, end.name), end.parameters))
            yield f'{place}.{side}.{end.name}.mechanical_reduction', end.mechanical_reduction
            yield f'{place}.{side}.{end.name}.offset', end.offset
    for path, parameters in texts:
        left = [
            each
            for each in parameters
            if (*path, each.name) not in numbers and each.name not in {*UNITS, *CONSTANTS}
        ]
        yield from _list_parameters('.'.join((place, *path)), left)
    for name, is_owned in zip((end.name for end in spec.actuators), binding.owned, strict=True):
        yield f'{place}.actuators.{name}.commanded', is_owned
        if name in binding.units:
            units = (f'{x.text or "SI"} ({x.scale!r})' for x in binding.units[name].all_units)
            yield f'{place}.actuators.{name}.units', list(units)


def _list_parameters(place: str, parameters: Sequence[ParameterSpec]) -> Iterator[tuple[str, str]]:
    """Yield the texts of elements; those of one name are numbered."""
    names = [parameter.name for parameter in parameters]
    for index, each in enumerate(parameters):
        several = f'.{names[:index].count(each.name) + 1}' * (names.count(each.name) > 1)
        start = f'{place}.{each.name}{several}'
        if each.value:
            yield start, each.value
        attributes = (pair for pair in each.attributes if pair != ('name', each.name))
        yield from ((f'{start}.{name}', value) for name, value in attributes)
        yield from _list_parameters(start, each.children)


def _list_joint(joint: JointSpec, is_in_loop: bool) -> Iterator[tuple[str, Any]]:
    """Yield the type of a joint, and its geometry in a linkage."""
    place = f'joints.{joint.name}'
    yield f'{place}.type', joint.type
    if is_in_loop:
        yield f'{place}.links', [joint.parent, joint.child]
        yield f'{place}.axis', joint.axis
        for part in ('origin', 'mimic', 'limits'):
            values = asdict(known) if (known := getattr(joint, part)) else {}
            yield from (
                (f'{place}.{part}.{name}', value)
                for name, value in values.items()
                if name not in ('velocity', 'effort')
            )


def _hash_functions(compiled: CompiledRobot) -> str:
    """Return a hash of the functions and their numbers; other machines round differently."""
    text = re.sub(r'/\*.*?\*/', '', compiled.functions, flags=re.DOTALL)
    text = re.sub(r'\b\d+\.\d*(e[+-]?\d+)?', lambda found: _rounded(float(found[0])), text)
    # The tables stand after the numbers of both directions.
    values = compiled.live.values[: sum(compiled.live.counts.values())].tolist()
    return hash_text(f'{text}{" ".join(map(_rounded, values))}')


def _rounded(number: float) -> str:
    return '0' if abs(number) < 1e-12 else f'{number:.6g}'
