# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Linkages that nobody would draw: findings, never a traceback, and never a long wait."""

from __future__ import annotations

import random
import time

import numpy as np
from zoo import linkages as zoo_linkages

from transmission_bridge import load_description
from transmission_bridge.errors import TransmissionBridgeError
from transmission_bridge.transmissions import RobotTransmissions
from transmission_bridge.transmissions.interfaces import DIRECTIONS
from transmission_bridge.transmissions.report import MapReport

#: How many linkages are tried.
COUNT = 100

#: Further ones: two that work, loops that no actuator moves, and residuals beyond any number.
FURTHER = (287, 313, 971, 11557)

#: CPU time that one linkage may take from its text to its first samples [s].
LONGEST = 2.0


def fuzzed(draw: random.Random) -> str:
    """Return the URDF of random branches whose tips are joined by loops, not all of them sound."""
    is_planar, is_sound = draw.random() < 0.6, draw.random() < 0.5
    axes = ['0 1 0'] if is_planar else ['1 0 0', '0 1 0', '0 0 1', '1 1 0']
    links, joints, tips, body = ['base'], [], [], '<link name="base"/>'
    for _ in range(draw.randint(2, 4)):
        parent = draw.choice(['base', 'base', draw.choice(links)])
        for _ in range(draw.randint(1, 4)):
            name, child = f'j{len(links)}', f'l{len(links)}'
            kinds = ['revolute', 'prismatic', 'continuous', 'fixed', 'floating', 'planar']
            kind = draw.choices(kinds, [10, 2, 1, 2, *([0, 0] if is_sound else [0.2, 0.2])])[0]
            place = [draw.uniform(-0.3, 0.3), 0.0 if is_planar else draw.uniform(-0.3, 0.3), 0.0]
            place[2] = draw.choice([0.0, 0.2, draw.uniform(-0.3, 0.3)])
            turn = 0.0 if is_planar else draw.choice([0.0, draw.uniform(-3.0, 3.0)])
            low, high = draw.choice([(-1.5, 1.5), (-3.0, 3.0), (-0.3, 0.3), (0.1, 0.9)])
            body += f'<link name="{child}"/><joint name="{name}" type="{kind}">'
            body += f'<parent link="{parent}"/><child link="{child}"/>'
            body += f'<origin xyz="{place[0]} {place[1]} {place[2]}" rpy="{turn} 0 0"/>'
            body += f'<axis xyz="{draw.choice(axes)}"/>'
            body += f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>'
            if joints and draw.random() < 0.05:
                body += f'<mimic joint="{draw.choice(joints)}" '
                body += f'multiplier="{draw.choice([1.0, -1.0, 0.5, 0.0])}" offset="0.1"/>'
            body += '</joint>'
            links.append(child)
            if kind in kinds[:3]:
                joints.append(name)
            parent = child
        tips.append(parent)
    joints = joints or ['j1']

    def name_of(kind: list[str]) -> str:
        return draw.choice(kind if is_sound or draw.random() < 0.9 else [*links, *joints, 'none'])

    n = min(draw.choice([1, 1, 2, 2, 3, 4]), len(joints))
    others = [name for name in joints if name] if draw.random() < 0.2 else []
    driven = draw.sample(joints, n)
    left = [name for name in joints if name not in driven] or joints
    commanded = dict.fromkeys(draw.choices(others or left, k=n))
    inside = ''
    for k, name in enumerate(driven, 1):
        inside += f'<actuator name="m{k}" role="actuator{k}">'
        inside += f'<param name="joint">{name if is_sound else name_of(joints)}</param></actuator>'
    for k in range(draw.choice([0, 1, 1, 2, 2, 3]) if not is_sound else len(tips) - 1):
        kind = draw.choice(['point', 'hinge', 'rod', 'rod', *([] if is_sound else ['weld'])])
        more = 'axis="0 1 0"' if kind == 'hinge' else ''
        if kind == 'rod' and draw.random() < (0.1 if is_sound else 0.6):
            more = f'length="{draw.choice(["0", "1e-9", "0.2", "0.2", "1e9", "-1", "x"])}"'
        one, other = (tips[k], tips[k + 1]) if is_sound else (name_of(tips), name_of(links))
        inside += f'<loop type="{kind}" frame1="{one}" frame2="{other}" {more}/>'
    for _ in range(draw.choice([0, 0, 1, 2])):
        place = draw.choice([0.3, -1.0] if is_sound else [0.3, 1e6, 1e300, -4.0])
        inside += f'<start joint="{name_of(joints)}" position="{place}"/>'
    if not is_sound and draw.random() < 0.2:
        inside += f'<param name="tolerance">{draw.choice([1e-3, 1e-12, 0.0, "x"])}</param>'
    text = zoo_linkages.robot('', {}, list(commanded), inside)
    return text.replace('<link name="base"/>', body, 1)


def outcome(text: str) -> tuple[str, float]:
    """Return what became of a linkage, ``works`` or its finding, and the CPU time [s]."""
    begin = time.process_time()
    try:
        robot = RobotTransmissions(load_description(text))
    except TransmissionBridgeError as error:  # the robot itself cannot be read
        return str(error), time.process_time() - begin
    errors = [str(each) for each in robot.findings if each.severity == 'error']
    if 'linkage' not in robot.transmissions:
        assert errors
        return errors[0], time.process_time() - begin
    report = MapReport()
    for direction in DIRECTIONS:
        stream = robot.stream(direction)
        n = len(robot.actuator_names if direction == DIRECTIONS[0] else robot.joint_names)
        for far in (0.0, 0.01, 3.0, 1e300, np.nan, 0.0):
            stream.map_state(np.full((3, n), far), report)
    return 'works', time.process_time() - begin


def test_a_linkage_that_cannot_be_is_a_finding_in_a_short_time(campaign: int) -> None:
    """Of a few hundred, some work, none raises or waits, and no finding is a traceback."""
    said = []
    for number in (*range(COUNT * campaign), *FURTHER):
        text = fuzzed(random.Random(number))
        found, spent = outcome(text)
        assert spent < LONGEST, (number, spent, found)
        assert 'Traceback' not in found, (number, found)
        assert 'Error' not in found, (number, found)
        said.append(found)
    assert 0 < said.count('works') < len(said)
    assert any('no actuator turns a joint of loop' in each for each in said)
    assert len({each.partition('cannot be used: ')[2][:40] for each in said}) > 10
