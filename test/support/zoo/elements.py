# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Elements of descriptions, and robots around them: a test writes only the part that it checks."""

from __future__ import annotations

import re

from transmission_bridge.description import load_description
from transmission_bridge.transmissions import RobotTransmissions


def ratio(number, offset=0.0):
    """Return what stands in a joint or an actuator."""
    more = f'<offset>{offset}</offset>' if offset else ''
    return f'<mechanical_reduction>{number}</mechanical_reduction>{more}'


def params(**values):
    """Return ``<param>`` elements."""
    return ''.join(f'<param name="{name}">{value}</param>' for name, value in values.items())


def transmission(name, kind, joints, actuators, more=''):
    """
    Return an element; roles are in the order of the members.

    :param kind: The class without ``Transmission``, or a whole plugin.
    :param joints: Names, or what stands in the elements by name; actuators the same.
    """
    ends = ''
    for side, members in (('actuator', actuators), ('joint', joints)):
        inside = members if isinstance(members, dict) else dict.fromkeys(members, '')
        for place, (member, text) in enumerate(inside.items(), 1):
            ends += f'<{side} name="{member}" role="{side}{place}">{text}</{side}>\n'
    room = 'interface' if kind in ('Simple', 'Differential', 'FourBarLinkage') else 'bridge'
    plugin = kind if '/' in kind else f'transmission_{room}/{kind}Transmission'
    return f'<transmission name="{name}"><plugin>{plugin}</plugin>{more}\n{ends}</transmission>\n'


def urdf(joints, transmissions='', mimic=None, plugin='small/Hardware'):
    """
    Return a robot with one block of hardware.

    :param joints: Names of joints that turn without limits, or by name type and ``<limit>``
        attributes. Those that follow no other one stand in the block.
    :param transmissions: Their text.
    :param mimic: Attributes of ``<mimic>`` by joint.
    """
    kinds = joints if isinstance(joints, dict) else dict.fromkeys(joints, 'continuous')
    follow, parts, declared = mimic or {}, ['<robot name="small"><link name="base"/>'], []
    for name, text in kinds.items():
        kind, _, limit = text.partition(' ')
        inside = f'<limit {limit}/>' if limit else ''
        if name in follow:
            inside += f'<mimic {follow[name]}/>'
        else:
            declared.append(f'<joint name="{name}"/>')
        parts.append(
            f'<link name="l_{name}"/><joint name="{name}" type="{kind}"><parent link="base"/>'
            f'<child link="l_{name}"/>{inside}</joint>'
        )
    parts.append('<ros2_control name="hardware" type="system">')
    parts.append(f'<hardware><plugin>{plugin}</plugin></hardware>')
    return '\n'.join([*parts, *declared, transmissions.strip(), '</ros2_control></robot>'])


def maps(*robot, **more):
    """Return the maps of :func:`urdf`."""
    return load(urdf(*robot, **more))


def load(text, strict=False, **options):
    """Return the maps of a description."""
    return RobotTransmissions(load_description(text, strict=strict), **options)


def leg(inside='', distance=0.4, actuator=''):
    """
    Return the transmission ``leg``: ``cylinder`` turns ``knee`` at a ratio that varies.

    :param inside: Content of the joint, for example a bound.
    :param distance: From the knee to the cylinder's end [m].
    """
    more = params(crank_radius=0.1, pivot_distance=distance, crank_angle=1.5)
    return transmission('leg', 'CrankSlider', {'knee': inside}, {'cylinder': actuator}, more)


def ankle(joints=('pitch', 'roll'), actuators=('upper', 'lower')):
    """Return the transmission ``ankle``, whose joint positions are solved."""
    bounds = (params(lower=-0.9, upper=0.6), params(lower=-0.4, upper=0.4))
    motors = (
        params(
            motor_position=f'0 {y} {length}',
            crank_radius=0.05,
            rod_length=length,
            foot_attachment=f'0.05 {y} 0',
        )
        for y, length in ((0.05, 0.24), (-0.05, 0.15))
    )
    return transmission(
        'ankle',
        'ParallelAnkle',
        dict(zip(joints, bounds, strict=True)),
        dict(zip(actuators, motors, strict=True)),
    )


ANKLE = ankle()


def ros1(name, kind='transmission_interface/SimpleTransmission', reduction='10'):
    """Return the transmission of ROS 1 of a joint and its motor, in three lines."""
    return (
        f'<transmission name="{name}_transmission"><type>{kind}</type>\n'
        f'<joint name="{name}"><hardwareInterface>PositionJointInterface</hardwareInterface>'
        f'</joint>\n<actuator name="{name}_motor">'
        f'<mechanicalReduction>{reduction}</mechanicalReduction></actuator></transmission>\n'
    )


def ros1_robot(*transmissions, joints=()):
    """Return a robot of ROS 1: a line, one more for each joint, which turns, then the rest."""
    lines = [
        f'<joint name="{name}" type="continuous"><parent link="base"/><child link="{name}_link"/>'
        f'</joint><link name="{name}_link"/>\n'
        for name in joints
    ]
    return f'<robot name="r"><link name="base"/>\n{"".join((*lines, *transmissions))}</robot>'


def of_snippet(snippet):
    """Return a robot of the joints of a transmission's text, which all turn, and of the text."""
    return urdf(re.findall(r'<joint name="([^"]+)"', snippet), snippet)


# -- robots of the joints j0, j1, ... and the motors m0, m1, ... ----------------------------------

LIMIT = 'revolute lower="-1.5" upper="1.5" velocity="20" effort="50"'
NARROW = 'revolute lower="-1" upper="1" velocity="2" effort="50"'

#: ``j0 = (m0 + m1) / 2``, ``j1 = (m0 - m1) / 2``.
WRIST = transmission('wrist', 'Differential', ('j0', 'j1'), ('m0', 'm1'))
#: One motor bends two joints alike: ``j0 = j1 = m0``.
FINGER = transmission('finger', 'Coupled', ('j0', 'j1'), ('m0',), params(matrix='1; 1'))
#: One motor turns a joint five times as far as another: ``j0 = m0``, ``j1 = 5 m0``.
CLAW = transmission('claw', 'Coupled', ('j0', 'j1'), ('m0',), params(matrix='1; 5'))


def simple(number, motor='', joint=''):
    """Return the transmission of a joint and a motor of this number: ``j = m`` if empty."""
    return transmission(f't{number}', 'Simple', {f'j{number}': joint}, {f'm{number}': motor})


def numbered(text, limit=LIMIT, count=2, **more):
    """Return the description of a robot of the joints ``j0``, ``j1``, ..."""
    return urdf({f'j{number}': limit for number in range(count)}, text, **more)


def pair(motor='', **more):
    """Return two simple transmissions; the motor ``m1`` may have a limit."""
    return numbered(simple(0) + simple(1, motor), **more)


def three(plugin='two/Hardware'):
    """Return a wrist beside a joint of its own, without position limits."""
    limit = 'continuous velocity="20" effort="9"'
    return numbered(WRIST + simple(2), limit, count=3, plugin=plugin)
