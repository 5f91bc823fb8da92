# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
What a live sample of a linkage costs, against the algorithm of joint_state_transformer, in C++.

Ours is position, velocity and effort of one instant through ``Stream.map_state``, as the bridge
calls it from Python, with all passive joints or with commanded joints alone. The reference is
``linkage_reference.cpp``: positions of all passive joints only, no velocity or effort, no check of
the solution, called once for all samples; with its own tolerance, 1e-5, and with 1e-10, which is
ours. Samples are of a steady motion with steps of at most 2 mrad.

Each round times every case once, in random order, in CPU time of the one thread; what is compared
are ratios within rounds, printed as ``median [min..max]``.
"""

from __future__ import annotations

import argparse
import ctypes
import math
from pathlib import Path
import subprocess
import sys
import tempfile

from maps import quotients, summary, timed
import numpy as np

from transmission_bridge import load_description, MapReport, RobotTransmissions
from transmission_bridge.transmissions.linkage.tree import JointMotion
from transmission_bridge.transmissions.parallel_ankle import AnkleLeg, ParallelAnkleTransmission

SOURCE = Path(__file__).with_name('linkage_reference.cpp')
SAMPLES = 1000
TOLERANCES = (1e-5, 1e-10)
TYPES = ('point', 'hinge', 'weld', 'rod')


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--rounds', type=int, default=9)
    rounds = parser.parse_args().rounds
    for name, text in linkages().items():
        cases, forward = {}, None
        for published in ('all', 'none'):
            robot = RobotTransmissions(load_description(text), passive_joints=published)
            errors = [str(each) for each in robot.findings if each.severity == 'error']
            assert not errors, errors
            linkage = robot.transmissions['linkage']
            at = swaying(linkage.n_actuators)
            for component, driven, _ in linkage.iterate_members():
                structure = component.structure
                at[:, driven] += structure.start[list(structure.driven)]
            cases[f'to joints, {published} passive'] = live(robot, 'actuator_to_joint', at)
            forward = robot.actuator_to_joint('position', at)
        assert np.isfinite(forward).all()
        cases['to actuators'] = live(robot, 'joint_to_actuator', forward)
        cases['to joints, cold'] = live(robot, 'actuator_to_joint', at[::50], is_cold=True)
        cases['to actuators, cold'] = live(robot, 'joint_to_actuator', forward[::50], is_cold=True)
        cases['to actuators, out of reach'] = out_of_reach(robot, forward[0])
        for tolerance in TOLERANCES:
            cases[f'reference {tolerance:g}'] = reference(linkage, at, forward, tolerance)
        measured = timed(cases, rounds)
        for case, values in measured.items():
            print(f'{name + ", " + case:<56}{summary([v / 1e3 for v in values], 2)} us')
        # What is sought has no counterpart: the reference begins at the solution.
        for case in list(cases)[:3]:
            for tolerance in TOLERANCES:
                ratio = quotients(measured[f'reference {tolerance:g}'], measured[case])
                print(f'{name}, reference {tolerance:g} / {case:<24}{summary(ratio, 2)}')
    ankle_cases(rounds)
    return 0


def ankle_cases(rounds: int) -> None:
    """Measure the ankle as a linkage and as an equation."""
    legs = [
        AnkleLeg(motor=motor, crank=crank, crank_angle=angle, rod=rod, foot=foot)
        for motor, crank, angle, rod, foot in PUSH_RODS
    ]
    ankle = ParallelAnkleTransmission((legs[0], legs[1]), lower=(-0.5, -0.3), upper=(0.4, 0.3))
    import maps

    robot = RobotTransmissions(load_description(push_rod_ankle()), passive_joints='none')
    a = swaying(2)
    q = robot.actuator_to_joint('position', a)
    for direction, at in (('actuator_to_joint', a), ('joint_to_actuator', q)):
        cases = {
            'linkage': live(robot, direction, at),
            'equation': maps.live(ankle, direction, at),
        }
        measured = timed(cases, rounds)
        for case, values in measured.items():
            print(f'ankle {direction}, {case:<32}{summary([v / 1e3 for v in values], 2)} us')
        ratio = quotients(measured['linkage'], measured['equation'])
        print(f'ankle {direction}, linkage / equation          {summary(ratio, 2)}')


def swaying(n: int) -> np.ndarray:
    """Return a motion of each motor, with steps of at most 2 mrad."""
    along = np.arange(SAMPLES)[:, np.newaxis]
    return 0.2 * np.sin(0.01 * along + np.arange(n)) - 0.2 * np.sin(np.arange(n))


def live(
    robot: RobotTransmissions, direction: str, at: np.ndarray, *, is_cold: bool = False
) -> tuple:
    """
    Return a case that maps one instant after the other, which are all answered.

    :param is_cold: Whether each is sought from the table, as the first one of a stream.
    """
    stream, report = robot.stream(direction), MapReport()
    rows = np.stack([at, np.ones_like(at), np.ones_like(at)], axis=1)

    def run() -> None:
        for each in rows:
            if is_cold:
                stream.forget_solutions()
            stream.map_state(each, report)

    run()
    assert not report.counts, report.counts
    return run, len(rows)


def out_of_reach(robot: RobotTransmissions, at: np.ndarray) -> tuple:
    """Return a case of joints that stay at a position without a solution."""
    stream, report = robot.stream('joint_to_actuator'), MapReport()
    known, away = (np.tile(each, (3, 1)) for each in (at, at + 3.0))

    def run() -> None:
        stream.map_state(known, report)
        for _ in range(SAMPLES):
            stream.map_state(away, report)

    run()
    assert sum(report.counts.values()) >= SAMPLES, report.counts
    return run, SAMPLES


def reference(linkage: object, at: np.ndarray, found: np.ndarray, tolerance: float) -> tuple:
    """Return a case of the C++ reference, which closes every sample and finds the same."""
    library = compiled()
    structures = [component.structure for component in linkage.components]
    firsts = np.cumsum([0, *(len(each.names) for each in structures)]).tolist()
    passive = np.array(
        [first + k for first, each in zip(firsts, structures, strict=False) for k in each.unknown],
        dtype=np.intc,
    )
    begin = np.tile(np.concatenate([each.start for each in structures]), (len(at), 1))
    pointer = ctypes.c_void_p(library.linkage_new(firsts[-1], len(passive), numbers(passive, 'i')))
    for first, (component, driven, _) in zip(firsts, linkage.iterate_members(), strict=False):
        structure = component.structure
        begin[:, first + np.array(structure.driven)] = at[:, driven]
        for path, length in zip(structure.paths, structure.lengths.tolist(), strict=True):
            add_loop(library, pointer, path, length, first)

    def run() -> None:
        z, steps = begin.copy(), ctypes.c_long(0)
        closed = library.linkage_run(
            pointer, len(z), ctypes.c_double(tolerance), numbers(z), ctypes.byref(steps)
        )
        assert closed == len(z), closed
        for first, (component, _, commanded) in zip(
            firsts, linkage.iterate_members(), strict=False
        ):
            places = [first + place for place in component.structure.commanded]
            apart = np.abs(z[:, places] - found[:, commanded]).max()
            assert apart < 1e3 * tolerance, apart

    return run, len(at)


def add_loop(
    library: ctypes.CDLL, pointer: ctypes.c_void_p, path: object, length: float, first: int
) -> None:
    """Give a loop to the reference, whose joints count from the first one of their part."""
    sides = [chain(elements) for elements in (path.to_frame1, path.to_frame2)]
    library.linkage_loop(
        pointer,
        TYPES.index(path.loop.type),
        ctypes.c_double(length),
        numbers(path.loop.axis),
        *(numbers(after) for _, after in sides),
    )
    for side, (joints, _) in enumerate(sides):
        for motion, before in joints:
            library.linkage_joint(
                pointer,
                side,
                first + motion.variable,
                int(motion.slides),
                numbers(motion.axis),
                numbers(before),
            )


def chain(elements: object) -> tuple[list, np.ndarray]:
    """Return the joints on a path, each with what is before it, and what is behind the last."""
    joints, constant = [], np.eye(4)
    for element in elements:
        if isinstance(element, JointMotion):
            assert (element.scale, element.offset) == (1.0, 0.0)
            joints.append((element, constant[:3]))
            constant = np.eye(4)
        else:
            constant = constant @ element
    return joints, constant[:3]


def numbers(values: object, kind: str = 'd') -> ctypes.c_void_p:
    """Return a pointer to numbers, which are copied if they are no such array."""
    array = np.ascontiguousarray(values, dtype=np.intc if kind == 'i' else np.float64)
    return array.ctypes.data_as(ctypes.c_void_p)


def compiled() -> ctypes.CDLL:
    """Return the reference, compiled on the spot."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / 'reference.so'
        command = ['g++', '-O2', '-std=c++17', '-shared', '-fPIC', str(SOURCE), '-o', str(target)]
        subprocess.run(command, check=True)
        library = ctypes.CDLL(str(target))
    library.linkage_new.restype = ctypes.c_void_p
    return library


# -- the linkages --------------------------------------------------------------------------------

PUSH_RODS = (
    ((-0.005, 0.035, 0.25), 0.04, math.pi, 0.26, (-0.045, 0.03, -0.01)),
    ((-0.005, -0.035, 0.16), 0.04, math.pi, 0.17, (-0.045, -0.03, -0.01)),
)


def linkages() -> dict[str, str]:
    """Return URDFs by name."""
    return {'five-bar': five_bar(), 'push-rod ankle': push_rod_ankle(), 'leg': leg()}


def joint(name, parent, child, xyz=(0, 0, 0), axis=(0, 1, 0), kind='revolute') -> str:
    """Return a joint with its child link."""
    text = f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
    text += f'<child link="{child}"/><origin xyz="{" ".join(map(repr, map(float, xyz)))}"/>'
    text += f'<axis xyz="{" ".join(map(str, axis))}"/>'
    return text + '<limit lower="-1.5" upper="1.5" effort="9" velocity="9"/></joint>'


def ball(name, parent, child, xyz=(0, 0, 0), axes='xyz') -> str:
    """Return revolute joints that make a ball, or of two axes a universal joint."""
    text = ''
    for k, axis in enumerate(axes):
        link = child if k == len(axes) - 1 else f'{name}_link_{axis}'
        unit = [int(axis == each) for each in 'xyz']
        text += joint(f'{name}_{axis}', parent, link, (0, 0, 0) if k else xyz, unit)
        parent = link
    return text


def robot_of(body: str, motors: list[str], joints: list[str], loops: str) -> str:
    """Return a URDF with one linkage."""
    inside = ''.join(
        f'<actuator name="a_{motor}" role="actuator{k}"><param name="joint">{motor}</param>'
        '</actuator>'
        for k, motor in enumerate(motors, 1)
    )
    inside += ''.join(
        f'<joint name="{each}" role="joint{k}"/>' for k, each in enumerate(joints, 1)
    )
    declared = ''.join(
        f'<joint name="{each}"><command_interface name="position"/></joint>' for each in joints
    )
    return (
        f'<robot name="own"><link name="base"/>{body}<ros2_control name="s" type="system">'
        f'<hardware><plugin>x/X</plugin></hardware>{declared}<transmission name="linkage">'
        '<plugin>transmission_bridge/LinkageTransmission</plugin>'
        f'{inside}{loops}</transmission></ros2_control></robot>'
    )


def five_bar() -> str:
    """Return two cranks in a plane whose rods meet in a pin."""
    body = joint('crank_a', 'base', 'a1', (-0.1, 0, 0)) + joint('elbow_a', 'a1', 'a2', (0, 0, 0.2))
    body += joint('crank_b', 'base', 'b1', (0.1, 0, 0)) + joint('elbow_b', 'b1', 'b2', (0, 0, 0.2))
    body += joint('pin_a', 'a2', 'a3', (0, 0, 0.3), kind='fixed')
    body += joint('pin_b', 'b2', 'b3', (0, 0, 0.3), kind='fixed')
    loops = '<loop type="hinge" frame1="a3" frame2="b3" axis="0 1 0"/>'
    loops += '<start joint="elbow_a" position="0.34"/><start joint="elbow_b" position="-0.34"/>'
    return robot_of(body, ['crank_a', 'crank_b'], ['elbow_a', 'elbow_b'], loops)


def push_rod_ankle(parent: str = 'base', kind: str = 'point') -> str:
    """Return two cranks whose push-rods pitch and roll a foot."""
    body, loops, cranks = ankle_parts(parent, kind)
    return robot_of(body, cranks, ['pitch', 'roll'], loops)


def ankle_parts(parent: str, kind: str) -> tuple[str, str, list[str]]:
    """Return joints, loops and cranks of an ankle."""
    body = joint('pitch', parent, 'cross') + joint('roll', 'cross', 'foot', axis=(1, 0, 0))
    loops = ''
    for side, (motor, crank, angle, rod, foot) in zip('ab', PUSH_RODS, strict=True):
        tip = (crank * math.cos(angle), 0.0, -crank * math.sin(angle))
        body += joint(f'crank_{side}', parent, f'arm_{side}', motor)
        body += ball(f'ball_{side}', f'arm_{side}', f'rod_{side}', tip)
        body += joint(f'eye_{side}', 'foot', f'eye_{side}_link', foot, kind='fixed')
        body += joint(f'tip_{side}', f'rod_{side}', f'tip_{side}_link', (0, 0, -rod), kind='fixed')
        end = f'tip_{side}_link'
        if kind == 'weld':
            end = f'end_{side}'
            body += ball(f'far_{side}', f'tip_{side}_link', end, axes='xy')
        loops += f'<loop type="{kind}" frame1="{end}" frame2="eye_{side}_link"/>'
    return body, loops, ['crank_a', 'crank_b']


def leg() -> str:
    """Return a knee that a rod bends and an ankle below it: rods with balls, welded in space."""
    body = joint('crank_k', 'base', 'arm_k', (0.03, 0.02, -0.05))
    body += joint('knee', 'base', 'shin', (0, 0, -0.35))
    body += ball('ball_k', 'arm_k', 'rod_k', (0.04, 0.01, 0))
    body += joint('tip_k', 'rod_k', 'tip_k_link', (-0.02, -0.03, -0.30), kind='fixed')
    body += ball('far_k', 'tip_k_link', 'end_k', axes='xy')
    body += joint('eye_k', 'shin', 'eye_k_link', (0.05, 0.0, 0.0), kind='fixed')
    below, loops, cranks = ankle_parts('shank', 'weld')
    body += joint('shank', 'shin', 'shank', (0, 0, -0.4), kind='fixed') + below
    loops += '<loop type="weld" frame1="end_k" frame2="eye_k_link"/>'
    return robot_of(body, ['crank_k', *cranks], ['knee', 'pitch', 'roll'], loops)


if __name__ == '__main__':
    sys.exit(main())
