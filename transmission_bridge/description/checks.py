# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Compare transmissions and ``<ros2_control>`` blocks with each other and with the URDF."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from transmission_bridge.description.specs import (
    RejectedTransmission,
    Ros2ControlSpec,
    TransmissionEnd,
    TransmissionSpec,
)
from transmission_bridge.description.transmission_element import Draft
from transmission_bridge.description.urdf import iterate_loops, RobotJoints
from transmission_bridge.description.walker import Findings

# -- Joints of `<ros2_control>` blocks compared with the joints of the URDF ----------------------
#
# ros2_control rejects the document for each of these. Here only an invalid mimic is an error; the
# others are warnings, and errors in strict mode.


def check_block_joints(
    blocks: Sequence[Ros2ControlSpec],
    driven: Collection[str],
    joints: RobotJoints,
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


def check_mimic_joints(joints: RobotJoints, findings: Findings) -> None:
    """Report URDF joints that mimic an unknown joint, and each loop of mimic joints once."""
    usable = joints.usable.values()
    followed = {joint.name: joint.mimic.joint for joint in usable if joint.mimic}
    for _, loop in iterate_loops(followed, followed):
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


#: Message and expectation about a name that another transmission has, by its kind.
_TAKEN = {
    'transmission': ('another transmission has the same name', 'another name'),
    'joint': ('the joint is already driven', 'a joint that no other transmission drives'),
    'actuator': (
        'the actuator is already commanded',
        'an actuator that no other transmission commands',
    ),
}


def accept_transmissions(
    drafts: Sequence[Draft],
    joints: RobotJoints | None,
    findings: Findings,
    independent: Collection[str] = (),
) -> tuple[tuple[TransmissionSpec, ...], tuple[RejectedTransmission, ...]]:
    """
    Divide the transmissions into those that can be used together, and the others.

    :param drafts: In order of precedence.
    :param joints: The robot's joints; ``None``: the document has no joints to check names by.
    :param independent: Joints that do not follow, whatever their ``<mimic>``.
    """
    taken: dict[tuple[str, str], TransmissionSpec] = {}
    accepted: list[TransmissionSpec] = []
    rejected: list[RejectedTransmission] = []
    for draft in drafts:
        errors = findings.errors
        spec = draft.spec
        claims: list[tuple[str, TransmissionSpec | TransmissionEnd]] = [('transmission', spec)]
        claims += [('joint', joint) for joint in spec.joints]
        if spec.can_command:
            claims += [('actuator', end) for end in spec.actuators if not end.read_only]
        if joints is not None and not draft.refused:
            _check_driven_joints(spec, joints, findings, independent)
        for kind, claim in claims if not draft.refused else ():
            if (other := taken.get((kind, claim.name))) is not None:
                what, expected = _TAKEN[kind]
                message = f"{what} by transmission '{other.name}' on line {other.line}"
                findings.add_error(claim, message, expected, f"'{claim.name}'")
        if draft.refused or findings.errors > errors:
            names = () if joints is None else draft.rejected.joints or ('',)
            unknown = dict.fromkeys(draft.rejected.unknown_joints)
            unknown |= dict.fromkeys(name for name in names if joints and name not in joints)
            rejected.append(replace(draft.rejected, unknown_joints=tuple(unknown)))
        else:
            taken |= {(kind, claim.name): spec for kind, claim in claims}
            accepted.append(spec)
    return tuple(accepted), tuple(rejected)


def _check_driven_joints(
    spec: TransmissionSpec, joints: RobotJoints, findings: Findings, independent: Collection[str]
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
