# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Write frames and transmissions into a URDF; every other byte stays unchanged.

``command`` calls it: frames before the proposal, which needs them, and transmissions as the last
step. The result is loaded, and rejected if it has new errors. The choice of new names is free;
elements and attributes are those that the reader of descriptions knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
import math
import re
from xml.sax.saxutils import quoteattr

from transmission_bridge.description import load_description
from transmission_bridge.description.document import DescriptionEditor
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.formats import LoopFile, LoopMotor
from transmission_bridge.tools.loops.proposal import LoopCoupling, ProposedMechanism, TOLERANCES
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.linkage import Loop

#: The hardware of a new ``<ros2_control>``, which the user has to replace.
PLACEHOLDER = 'REPLACE_ME/HardwareOfThisRobot'

#: Name of a new ``<ros2_control>``.
_BLOCK = 'loops'

#: A loop that is closed at zero to this gap needs no ``<start>`` [m or rad].
_CLOSED = 1e-6


def write_loop_frames(data: bytes, found: LoopFile) -> tuple[bytes, list[Loop]]:
    """
    Add a link behind a fixed joint for each frame that is not a link.

    :param data: The URDF.
    :returns: The URDF with all frames, and the loops between them.
    """
    robot = load_description(data)
    taken = {link.name for link in robot.links} | {joint.name for joint in robot.joints}
    lines, loops = [], []
    for loop in found.loops:
        names = []
        for number, frame in enumerate(loop.frames, 1):
            name = frame.link
            if not frame.is_link:
                name = _new_name(f'{loop.name}_{number}', taken)
                r = frame.pose
                across = math.hypot(r[0, 0], r[1, 0])
                roll, yaw = math.atan2(r[2, 1], r[2, 2]), math.atan2(r[1, 0], r[0, 0])
                if across < 1e-9:  # only the sum of roll and yaw counts
                    roll, yaw = math.atan2(-r[1, 2], r[1, 1]), 0.0
                xyz = ' '.join(map(repr, r[:3, 3].tolist()))
                rpy = ' '.join(map(repr, (roll, math.atan2(-r[2, 0], across), yaw)))
                ends = f'<parent link={quoteattr(frame.link)}/><child link={quoteattr(name)}/>'
                lines += [
                    f'<link name={quoteattr(name)}/>',
                    f'<joint name={quoteattr(f"{name}_mount")} type="fixed">',
                    f'  {ends}<origin xyz="{xyz}" rpy="{rpy}"/>',
                    '</joint>',
                ]
            names.append(name)
        loops.append(Loop(loop.type, names[0], names[1], loop.axis))
    return (_insert_lines(data, '/robot', lines) if lines else data), loops


def list_commanded(
    mechanisms: Iterable[ProposedMechanism], couplings: Iterable[LoopCoupling]
) -> list[str]:
    """Return the joints that the proposed transmissions command."""
    joints = [name for mechanism in mechanisms for name in mechanism.commanded]
    return joints + [name for coupling in couplings for name in coupling.joints]


def write_loop_transmissions(
    data: bytes, mechanisms: Sequence[ProposedMechanism], couplings: Sequence[LoopCoupling]
) -> bytes:
    """
    Add the transmissions to a ``<ros2_control>`` that has their joints, or to a new one.

    :param data: The URDF with all frames.
    :raises UsageError: If several blocks have the joints, or the result has errors.
    """
    robot = load_description(data)
    joints = list_commanded(mechanisms, couplings)
    owners = {
        component.name: block
        for block in robot.blocks
        for component in block.components
        if component.name in joints
    }
    blocks = {id(block): block for block in owners.values()}
    taken = {spec.name for spec in robot.transmissions} | {spec.name for spec in robot.rejected}
    lines = [
        *(line for m in mechanisms for line in _linkage_lines(m, _new_name(m.name, taken))),
        *(line for c in couplings for line in _coupling_lines(c, _new_name(c.name, taken))),
    ]
    if len(blocks) == 1 and len(owners) == len(joints):
        (block,) = blocks.values()
        result = _insert_lines(data, block.path, lines)
    elif owners:
        raise UsageError(
            f'expected the joints {", ".join(joints)} in one <ros2_control> or in none, found '
            + ', '.join(f"{name} in '{block.name}'" for name, block in owners.items())
        )
    else:
        name = _new_name(_BLOCK, {block.name for block in robot.blocks})
        elements = [
            f'<ros2_control name="{name}" type="system">',
            f'  <hardware><plugin>{PLACEHOLDER}</plugin></hardware>',
        ]
        interfaces = '    <command_interface name="position"/><state_interface name="position"/>'
        for joint in joints:
            elements += [f'  <joint name={quoteattr(joint)}>', interfaces, '  </joint>']
        elements += [*(f'  {line}' for line in lines), '</ros2_control>']
        result = _insert_lines(data, '/robot', elements)
    former = {(finding.message, finding.subject) for finding in RobotTransmissions(robot).findings}
    for finding in RobotTransmissions(load_description(result)).findings:
        if finding.severity == 'error' and (finding.message, finding.subject) not in former:
            raise UsageError(f'the proposed {finding.subject or "URDF"}: {finding.text}')
    return result


def _new_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    clean = name = re.sub(r'\W+', '_', wanted)
    number = 2
    while name in taken:
        name, number = f'{clean}_{number}', number + 1
    taken.add(name)
    return name


def _insert_lines(data: bytes, path: str, lines: Iterable[str]) -> bytes:
    """Insert lines at the end of an element."""
    editor = DescriptionEditor(data)
    if not editor.append_lines(path, lines):
        raise UsageError(f'expected a URDF with elements in {path}, found none')
    return editor.result()


# -- elements ------------------------------------------------------------------------------------


def _member_lines(
    motors: Iterable[tuple[LoopMotor, str]], joints: Iterable[str], offsets: Iterable[float] = ()
) -> Iterator[str]:
    for number, (motor, turned) in enumerate(motors, 1):
        yield f'  <actuator name={quoteattr(motor.name)} role="actuator{number}">'
        yield f'    <mechanical_reduction>{motor.reduction!r}</mechanical_reduction>'
        if turned:
            yield f'    <param name="joint">{quoteattr(turned)[1:-1]}</param>'
        yield '  </actuator>'
    for number, (joint, offset) in enumerate(zip_longest(joints, offsets), 1):
        start = f'  <joint name={quoteattr(joint)} role="joint{number}"'
        content = (f'{start}>', f'    <offset>{offset!r}</offset>', '  </joint>')
        yield from (f'{start}/>',) if offset is None else content


def _linkage_lines(mechanism: ProposedMechanism, name: str) -> Iterator[str]:
    yield f'<transmission name="{name}">'
    yield '  <plugin>transmission_bridge/LinkageTransmission</plugin>'
    motors = [(motor, joint) for joint, motor in mechanism.driven.items()]
    yield from _member_lines(motors, mechanism.commanded)
    for loop in mechanism.loops:
        axis = f' axis="{" ".join(map(repr, loop.axis))}"' if loop.type == 'hinge' else ''
        frames = 'frame1={} frame2={}'.format(*map(quoteattr, loop.frames))
        yield f'  <loop type="{loop.type}" {frames}{axis}/>'
    if max(max(loop.gap) for loop in mechanism.loops) > _CLOSED:
        for joint, position in mechanism.start.items():
            yield f'  <start joint={quoteattr(joint)} position="{position:.6g}"/>'
    if mechanism.tolerance > TOLERANCES[0]:
        yield f'  <param name="tolerance">{mechanism.tolerance:g}</param>'
    yield '</transmission>'


def _coupling_lines(coupling: LoopCoupling, name: str) -> Iterator[str]:
    is_table = len(coupling.table) > 0
    yield f'<transmission name="{name}">'
    kind = 'Tabulated' if is_table else 'Coupled'
    yield f'  <plugin>transmission_bridge/{kind}Transmission</plugin>'
    for number, row in enumerate(coupling.matrix.tolist(), 1):
        yield f'  <param name="joint{number}">{" ".join(map(repr, row))}</param>'
    names = ['actuator', *(f'joint{number}' for number in range(1, 1 + len(coupling.joints)))]
    for point in coupling.table.tolist():
        words = (f'{name}="{value:.9g}"' for name, value in zip(names, point, strict=True))
        yield f'  <point {" ".join(words)}/>'
    motors = ((motor, '') for motor in coupling.motors)
    yield from _member_lines(motors, coupling.joints, coupling.offset.tolist())
    yield '</transmission>'
