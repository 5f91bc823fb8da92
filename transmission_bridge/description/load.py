# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Load a robot description in XML as a :class:`RobotDescription`.

The parts are read by their tables, and then compared with each other and with the URDF. Findings
follow the order of the document, not of the checks.

Users, the node and the commands call :func:`load_description`; the other functions run only
in it. The order of the checks is fixed by the drafts, see :class:`XmlDraft`. Severity, path and
line of a finding, and which data survive it, are for users; messages are free to change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
import os

from transmission_bridge.description.document.xml import description_text, Element, parse_xml
from transmission_bridge.description.ros2_control import add_implied_actuators, read_ros2_control
from transmission_bridge.description.specs import (
    JointSpec,
    LinkSpec,
    MemberSpec,
    RejectedSpec,
    RobotDescription,
    Ros2ControlSpec,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import read_ros1_transmission, XmlDraft
from transmission_bridge.description.urdf import (
    check_tree,
    check_urdf_limits,
    iterate_name_cycles,
    JOINT,
    LINK,
    UrdfJoints,
)
from transmission_bridge.description.walker import Findings, Level, XmlWalker
from transmission_bridge.errors import DescriptionError


def load_description(
    text_or_path: str | bytes | bytearray | os.PathLike[str], strict: bool = False
) -> RobotDescription:
    """
    Read a robot description: URDF, or the ``<ros2_control>`` blocks of an SDF.

    A part that cannot be used is dropped and reported in :attr:`RobotDescription.findings`; the
    rest of the robot is loaded. A joint with an error in its ``<mimic>`` stays.

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
        robot = _load_robot(root, findings)
    elif root.tag == 'sdf' and (model := root.find_child('model')) is not None:
        text = 'the joints of an SDF are not read: names of joints are not checked'
        findings.add_info(model, text)
        robot = _load_robot(model, findings)
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


def _load_robot(robot: Element, findings: Findings) -> RobotDescription:
    """
    Read the parts of a ``<robot>``, or the blocks of a ``<model>``, and compare them.

    The transmissions of ros2_control come first, because ros2_control reads them: if both
    dialects describe a joint, the transmission of ROS 1 is rejected.
    """
    walker = XmlWalker(findings)
    name, is_urdf = robot.get('name') or '', robot.tag == 'robot'
    links: tuple[LinkSpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    known: UrdfJoints | None = None
    if is_urdf:
        if not name:
            findings.add_ignored(robot, '<robot> without a name', 'attribute name')
        links = walker.read_elements(robot.find_all('link'), {LINK.tag: LINK})
        joints = walker.read_elements(robot.find_all('joint'), {JOINT.tag: JOINT})
        check_urdf_limits(joints, findings)
        if robot.find_all('joint'):
            known = UrdfJoints(robot, joints)
            check_tree(robot, links, known, findings)
            check_mimic_joints(known, findings)
        else:
            findings.add_info(robot, 'no <joint> in the robot: names of joints are not checked')
    blocks, drafts = read_ros2_control(walker, robot.find_all('ros2_control'))
    for element in robot.find_all('transmission') if is_urdf else ():
        drafts.append(read_ros1_transmission(walker, element))
    if known is not None:
        driven = {joint for draft in drafts for joint in draft.rejection.joints}
        check_spec_joints(blocks, driven, known, findings)
    add_implied_actuators(drafts, findings)
    independent = {x.name for block in blocks for x in block.components if x.mimic is False}
    transmissions, rejected = accept_specs(drafts, known, findings, independent)
    return RobotDescription(
        name=name,
        links=links,
        joints=joints,
        blocks=blocks,
        transmissions=transmissions,
        rejected=rejected,
        findings=findings.sort_findings(),
        is_unexpanded=not _has_transmission(robot)
        and any(element.is_xacro for element in robot.iterate_below()),
    )


# -- Joints of `<ros2_control>` blocks compared with the joints of the URDF ----------------------
#
# ros2_control rejects the document for each of these. Here only an invalid mimic is an error; the
# others are warnings, and errors in strict mode.


def check_spec_joints(
    blocks: Sequence[Ros2ControlSpec],
    driven: Collection[str],
    joints: UrdfJoints,
    findings: Findings,
) -> None:
    """
    Report unknown joints, fixed joints and contradictory mimic joints of the blocks.

    :param driven: Joints that transmissions name.
    """
    for block in blocks:
        block_joints = [component for component in block.components if component.kind == 'joint']
        declared = {component.name for component in block_joints}
        for component in block_joints:
            joint = joints.usable.get(component.name)
            if joint is None:
                findings.add_ignored(component, *joints.explain_missing(component.name))
            elif joint.type == 'fixed':
                findings.add_ignored(
                    component,
                    f"joint '{component.name}' cannot be controlled",
                    'a joint that moves',
                    'a fixed joint',
                )
            elif joint.mimic is None:
                if component.mimic:
                    findings.add_error(
                        component,
                        f"joint '{component.name}' mimics nothing",
                        '<mimic> in the URDF joint',
                        'mimic="true" only',
                    )
            elif component.mimic is not False and component.name not in driven:
                if component.command_interfaces:
                    findings.add_ignored(
                        component,
                        f"joint '{component.name}' follows another joint and cannot be commanded",
                        'mimic="false", or no command interfaces',
                        'command interfaces',
                    )
                if joint.mimic.joint not in declared:
                    findings.add_ignored(
                        component,
                        f"joint '{component.name}' mimics a joint of another block",
                        'a joint of this block',
                        f"'{joint.mimic.joint}'",
                    )


def check_mimic_joints(joints: UrdfJoints, findings: Findings) -> None:
    """Report URDF joints that mimic an unknown joint, and each loop of mimic joints once."""
    usable = joints.usable.values()
    followed = {joint.name: joint.mimic.joint for joint in usable if joint.mimic}
    for _, loop in iterate_name_cycles(followed, followed):
        names = [*loop, loop[0]]
        findings.add_error(
            joints.usable[loop[0]],
            f"joint '{loop[0]}' mimics itself",
            'another joint, which does not follow this one',
            ' after '.join(
                f"'{name}'" for name in (names if len(names) <= 6 else [*names[:5], '…'])
            ),
        )
    for joint in usable:
        if joint.mimic is not None and joint.mimic.joint not in joints.usable:
            prefix = f"joint '{joint.name}' cannot follow: "
            findings.add_error(joint, *joints.explain_missing(joint.mimic.joint, prefix))


# -- Transmissions compared with each other and with the joints of the robot ---------------------
#
# Each name is used once, each joint is driven once, and each actuator is commanded through one
# transmission only. If two transmissions conflict, the later one is rejected.


#: Message and expectation about a name that an earlier transmission has, by its kind.
_TAKEN = {
    'transmission': ('another transmission has the same name', 'another name'),
    'joint': ('the joint is already driven', 'a joint that no other transmission drives'),
    'actuator': (
        'the actuator is already commanded',
        'an actuator that no other transmission commands',
    ),
}


def accept_specs(
    drafts: Sequence[XmlDraft],
    joints: UrdfJoints | None,
    findings: Findings,
    independent: Collection[str],
) -> tuple[tuple[TransmissionSpec, ...], tuple[RejectedSpec, ...]]:
    """
    Divide the transmissions into those that can be used together, and the others.

    :param drafts: Complete, in order of precedence.
    :param joints: The robot's joints; ``None``: the document has no joints to check names by.
    :param independent: Joints that do not follow, whatever their ``<mimic>``.
    """
    taken: dict[tuple[str, str], TransmissionSpec] = {}
    accepted: list[TransmissionSpec] = []
    rejected: list[RejectedSpec] = []
    for draft in drafts:
        errors = findings.errors
        spec = draft.spec
        claims: list[tuple[str, TransmissionSpec | MemberSpec]] = [('transmission', spec)]
        claims += [('joint', joint) for joint in spec.joints]
        if spec.can_command:
            claims += [('actuator', each) for each in spec.actuators if not each.read_only]
        if joints is not None and not draft.is_rejected:
            _check_driven_joints(spec, joints, findings, independent)
        for kind, claim in claims if not draft.is_rejected else ():
            if (other := taken.get((kind, claim.name))) is not None:
                what, expected = _TAKEN[kind]
                message = f"{what} by transmission '{other.name}' on line {other.line}"
                findings.add_error(claim, message, expected, f"'{claim.name}'")
        if draft.is_rejected or findings.errors > errors:
            names = () if joints is None else draft.rejection.joints or ('',)
            unknown = dict.fromkeys(draft.rejection.unknown_joints)
            unknown |= dict.fromkeys(name for name in names if joints and name not in joints)
            rejected.append(replace(draft.rejection, unknown_joints=tuple(unknown)))
        else:
            taken |= {(kind, claim.name): spec for kind, claim in claims}
            accepted.append(spec)
    return tuple(accepted), tuple(rejected)


def _check_driven_joints(
    spec: TransmissionSpec, joints: UrdfJoints, findings: Findings, independent: Collection[str]
) -> None:
    # Linkages reject commanded joints with <mimic>.
    is_linkage = spec.type.endswith('/LinkageTransmission')
    for member in spec.joints:
        joint = joints.usable.get(member.name)
        if joint is None:
            findings.add_error(member, *joints.explain_missing(member.name))
        elif not joint.is_scalar:
            findings.add_error(
                member,
                f"joint '{member.name}' cannot be moved by a transmission",
                'a revolute, continuous or prismatic joint',
                f'a {joint.type} joint',
            )
        elif not (is_linkage or joint.mimic is None or member.name in independent):
            findings.add_ignored(
                joint,
                f"joint '{member.name}' has a transmission, which counts: its <mimic> is ignored",
                'no <mimic>, or mimic="false" in <ros2_control>, or no transmission',
                f"a <mimic> of '{joint.mimic.joint}'",
            )
