# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Load a robot description in XML as a :class:`RobotDescription`."""

from __future__ import annotations

import os
from typing import Any

from transmission_bridge.description.checks import (
    accept_transmissions,
    check_block_joints,
    check_mimic_joints,
)
from transmission_bridge.description.document.xml import description_text, Element, parse_xml
from transmission_bridge.description.ros2_control import add_implied_actuators, read_ros2_control
from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.description.transmission_element import read_ros1_transmission
from transmission_bridge.description.urdf import (
    check_limits_given,
    check_tree,
    JOINT,
    LINK,
    RobotJoints,
)
from transmission_bridge.description.walker import Findings, Level, Walker
from transmission_bridge.errors import DescriptionError


def load_description(
    text_or_path: str | bytes | bytearray | os.PathLike[str], strict: bool = False
) -> RobotDescription:
    """
    Read a robot description: URDF, or the ``<ros2_control>`` blocks of an SDF.

    A part with an error is dropped and reported in :attr:`RobotDescription.findings`; the rest of
    the robot is loaded.

    :param text_or_path: The description itself (a ``str`` that contains ``<``, or bytes), or the
        path of a file.
    :param strict: Raise the first error, and the first warning about data that nothing uses or
        that ros2_control or URDF parsers reject. ``RobotTransmissions.findings`` reports the
        parameters that the type of a transmission does not use.
    :returns: The robot; lengths and angles in metres and radians.
    :raises DescriptionError: If the description cannot be read or parsed (no such file, empty,
        more than 16 MiB, not well-formed, entity declarations, root neither ``robot`` nor
        ``sdf``), or for the first such finding in strict mode.
    """
    root = parse_xml(description_text(text_or_path))
    findings = Findings(root)
    # Whole transmissions may be missing.
    if xacro := [element for element in root.iterate_below() if element.is_xacro]:
        level: Level = 'error'
        message = 'this is unexpanded xacro without any transmission: run xacro first'
        if _has_transmission(root):
            level, message = 'ignored', 'unexpanded xacro is ignored: run xacro first'
        found = f'<xacro:{xacro[0].tag}>' + (f' and {len(xacro) - 1} more' if xacro[1:] else '')
        findings.add(level, xacro[0], message, 'the output of "xacro FILE"', found, subject='')
    if root.tag == 'robot':
        robot = _load_urdf(root, findings)
    elif root.tag == 'sdf' and (model := root.find_child('model')) is not None:
        text = 'the joints of an SDF are not read: names of joints are not checked'
        findings.add_info(model, text)
        robot = _load_control(model, model.get('name') or '', None, Walker(findings))
    elif root.tag == 'sdf':
        findings.add_error(root, '<sdf> without a <model>', '<model>')
        robot = RobotDescription(name='', findings=findings.sort_findings())
    else:
        raise DescriptionError(
            'this is not a robot description',
            line=root.line,
            path=root.path,
            expected='<robot> or <sdf> as the root element',
            found=f'<{root.tag}>',
        )
    for finding in robot.findings if strict else ():
        if finding.severity == 'error' or finding.fatal_if_strict:
            raise DescriptionError(
                finding.message,
                line=finding.line,
                path=finding.path,
                expected=finding.expected,
                found=finding.found,
            )
    return robot


def _has_transmission(element: Element) -> bool:
    return any(
        child.tag == 'transmission' or _has_transmission(child)
        for child in element.children
        if not child.is_xacro
    )


def _load_urdf(root: Element, findings: Findings) -> RobotDescription:
    name = root.get('name') or ''
    if not name:
        findings.add_ignored(root, '<robot> without a name', 'attribute name')
    walker = Walker(findings)
    links = walker.read_elements(root.find_all('link'), {LINK.tag: LINK})
    joints = walker.read_elements(root.find_all('joint'), {JOINT.tag: JOINT})
    check_limits_given(joints, findings)
    robot_joints: RobotJoints | None = None
    if root.find_all('joint'):
        robot_joints = RobotJoints(root, joints)
        check_tree(root, links, robot_joints, findings)
        check_mimic_joints(robot_joints, findings)
    else:
        findings.add_info(root, 'no <joint> in the robot: names of joints are not checked')
    return _load_control(root, name, robot_joints, walker, links=links, joints=joints)


def _load_control(
    robot: Element,
    name: str,
    known: RobotJoints | None,
    walker: Walker,
    **kinematics: tuple[Any, ...],
) -> RobotDescription:
    """
    Add blocks and transmissions.

    The transmissions of ros2_control come first, because ros2_control reads them: if both
    dialects describe a joint, the transmission of ROS 1 is rejected.
    """
    findings = walker.findings
    blocks, drafts = read_ros2_control(walker, robot.find_all('ros2_control'))
    if robot.tag == 'robot':
        drafts += [
            read_ros1_transmission(walker, transmission)
            for transmission in robot.find_all('transmission')
        ]
    if known is not None:
        driven = {name for draft in drafts for name in draft.rejected.joints}
        check_block_joints(blocks, driven, known, findings)
    add_implied_actuators(drafts, findings)
    independent = {x.name for block in blocks for x in block.components if x.mimic is False}
    transmissions, rejected = accept_transmissions(drafts, known, findings, independent)
    return RobotDescription(
        name=name,
        is_unexpanded=not _has_transmission(robot)
        and any(element.is_xacro for element in robot.iterate_below()),
        blocks=blocks,
        transmissions=transmissions,
        rejected=rejected,
        findings=findings.sort_findings(),
        **kinematics,
    )
