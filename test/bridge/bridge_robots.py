# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of small robots; a test writes only the part that it checks."""

from __future__ import annotations


def urdf(joints, transmissions, mimic=None):
    """
    Return a robot of joints that all turn, and of one block of hardware.

    :param joints: Names; those that follow no other one stand in the block.
    :param transmissions: Their text.
    :param mimic: Attributes of ``<mimic>`` by joint.
    """
    follow = mimic or {}
    links = [f'<link name="l_{name}"/>' for name in joints]
    moved = [
        f'<joint name="{name}" type="continuous"><parent link="base"/><child link="l_{name}"/>'
        + (f'<mimic {follow[name]}/></joint>' if name in follow else '</joint>')
        for name in joints
    ]
    declared = [f'<joint name="{name}"/>' for name in joints if name not in follow]
    return '\n'.join(
        [
            '<robot name="small"><link name="base"/>',
            *links,
            *moved,
            '<ros2_control name="hardware" type="system">',
            '<hardware><plugin>small/Hardware</plugin></hardware>',
            *declared,
            transmissions.strip(),
            '</ros2_control></robot>',
        ]
    )


def leg(inside='', distance=0.4):
    """
    Return the transmission ``leg``: ``cylinder`` turns ``knee`` at a ratio that varies.

    :param inside: Content of the joint, for example a bound.
    :param distance: From the knee to the cylinder's end [m].
    """
    return f"""
<transmission name="leg">
  <plugin>transmission_bridge/CrankSliderTransmission</plugin>
  <actuator name="cylinder" role="actuator1"/>
  <joint name="knee" role="joint1">{inside}</joint>
  <param name="crank_radius">0.1</param>
  <param name="pivot_distance">{distance}</param>
  <param name="crank_angle">1.5</param>
</transmission>
"""


#: ``upper`` and ``lower`` turn ``pitch`` and ``roll``; their positions are solved.
ANKLE = """
<transmission name="ankle">
  <plugin>transmission_bridge/ParallelAnkleTransmission</plugin>
  <joint name="pitch" role="joint1">
    <param name="lower">-0.9</param><param name="upper">0.6</param>
  </joint>
  <joint name="roll" role="joint2">
    <param name="lower">-0.4</param><param name="upper">0.4</param>
  </joint>
  <actuator name="upper" role="actuator1">
    <param name="motor_position">0 0.05 0.24</param>
    <param name="crank_radius">0.05</param>
    <param name="rod_length">0.24</param>
    <param name="foot_attachment">0.05 0.05 0</param>
  </actuator>
  <actuator name="lower" role="actuator2">
    <param name="motor_position">0 -0.05 0.15</param>
    <param name="crank_radius">0.05</param>
    <param name="rod_length">0.15</param>
    <param name="foot_attachment">0.05 -0.05 0</param>
  </actuator>
</transmission>
"""
