# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""From a robot description in XML to a :class:`RobotDescription`."""

from __future__ import annotations

import os
from typing import Any

from transmission_bridge.description import ros2_control, transmission_element, urdf
from transmission_bridge.description.checks import (
    accepted_transmissions,
    check_block_joints,
    check_mimic_joints,
)
from transmission_bridge.description.findings import Findings
from transmission_bridge.description.ros2_control import add_implied_actuators, read_ros2_control
from transmission_bridge.description.source import description_text
from transmission_bridge.description.specs import Finding, JOINT, LINK, RobotDescription
from transmission_bridge.description.transmission_element import read_ros1_transmission
from transmission_bridge.description.urdf import check_tree, note_oddities, RobotJoints
from transmission_bridge.description.walker import Walker
from transmission_bridge.description.xml import Element, parse_xml
from transmission_bridge.errors import DescriptionError

#: What makes the specs of the rows that do not say all.
FINISH = {**urdf.FINISH, **transmission_element.FINISH, **ros2_control.FINISH}


def load_description(
    text_or_path: str | bytes | bytearray | os.PathLike[str], strict: bool = False
) -> RobotDescription:
    """
    Read a robot description: URDF, or the ``<ros2_control>`` blocks of an SDF.

    A part with an error is dropped and reported in :attr:`RobotDescription.findings`; the rest of
    the robot is loaded.

    :param text_or_path: The description itself (a ``str`` that contains ``<``, or bytes), or the
        path of a file.
    :param strict: Raise for the first error, and for the first warning about data that nothing
        uses or that ros2_control or URDF parsers refuse. What the type of a transmission does not
        read is known when it is built: see ``RobotTransmissions.findings``.
    :raises DescriptionError: If it cannot be read or parsed at all (no such file, empty, more
        than 16 MiB, not well-formed, entity declarations, root neither ``robot`` nor ``sdf``),
        or in strict mode.
    """
    root = parse_xml(description_text(text_or_path))
    findings = Findings(root)
    _note_xacro(root, findings)
    if root.tag == 'robot':
        robot = _robot(root, findings)
    elif root.tag == 'sdf':
        robot = _sdf(root, findings)
    else:
        raise DescriptionError(
            'this is not a robot description',
            line=root.line,
            path=root.path,
            expected='<robot> or <sdf> as the root element',
            found=f'<{root.tag}>',
        )
    if strict:
        _refuse(robot.findings)
    return robot


def _note_xacro(root: Element, findings: Findings) -> None:
    """Report xacro that was not expanded: whole transmissions may be missing."""
    left = [element for element in root.below() if element.is_xacro]
    if not left:
        return
    report, message = findings.ignored, 'xacro that was not expanded is ignored: run xacro first'
    if _is_unexpanded(root):
        report = findings.error
        message = 'this is xacro that was not expanded, without any transmission: run xacro first'
    found = f'<xacro:{left[0].tag}>' + (f' and {len(left) - 1} more' if left[1:] else '')
    report(left[0], message, expected='what "xacro FILE" prints', found=found, subject='')


def _is_unexpanded(element: Element) -> bool:
    """Return whether there is unexpanded xacro, and no transmission outside of it."""
    return not _has_transmission(element) and any(each.is_xacro for each in element.below())


def _has_transmission(element: Element) -> bool:
    return any(
        child.tag == 'transmission' or _has_transmission(child)
        for child in element.children
        if not child.is_xacro
    )


def _robot(root: Element, findings: Findings) -> RobotDescription:
    name = root.get('name') or ''
    if not name:
        findings.ignored(root, '<robot> without a name', expected='attribute name', found='none')
    walker = Walker(findings, FINISH)
    links = walker.read_all(root.all('link'), {LINK.tag: LINK})
    joints = walker.read_all(root.all('joint'), {JOINT.tag: JOINT})
    note_oddities(joints, findings)
    known: RobotJoints | None = None
    if root.all('joint'):
        known = RobotJoints(root, joints)
        check_tree(root, links, known, findings)
        check_mimic_joints(known, findings)
    else:
        findings.info(root, 'no <joint> in the robot: names of joints are not checked')
    return _with_control(root, name, known, walker, links=links, joints=joints)


def _sdf(root: Element, findings: Findings) -> RobotDescription:
    model = root.first('model')
    if model is None:
        findings.error(root, '<sdf> without a <model>', expected='<model>', found='none')
        return RobotDescription(name='', findings=findings.in_document_order())
    findings.info(model, 'the joints of an SDF are not read: names of joints are not checked')
    return _with_control(model, model.get('name') or '', None, Walker(findings, FINISH))


def _with_control(
    robot: Element,
    name: str,
    known: RobotJoints | None,
    walker: Walker,
    **kinematics: tuple[Any, ...],
) -> RobotDescription:
    """
    Add blocks and transmissions.

    ros2_control's transmissions come first, because ros2_control reads them: where both dialects
    describe a joint, the one of ROS 1 is refused.
    """
    findings = walker.findings
    blocks, drafts = read_ros2_control(walker, robot.all('ros2_control'))
    if known is not None:
        check_block_joints(blocks, known, findings)
    if robot.tag == 'robot':
        drafts += [read_ros1_transmission(walker, each) for each in robot.all('transmission')]
    add_implied_actuators(drafts, findings)
    transmissions, rejected = accepted_transmissions(drafts, known, findings)
    return RobotDescription(
        name=name,
        is_unexpanded=_is_unexpanded(robot),
        blocks=blocks,
        transmissions=transmissions,
        rejected=rejected,
        findings=findings.in_document_order(),
        **kinematics,
    )


def _refuse(findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        if finding.severity == 'error' or finding.fatal_if_strict:
            raise DescriptionError(
                finding.message,
                line=finding.line,
                path=finding.path,
                expected=finding.expected,
                found=finding.found,
            )
