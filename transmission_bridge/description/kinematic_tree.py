# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Whether links and joints form one tree.

URDF parsers refuse a document in which they do not. A transmission does not need the tree, so
here these are warnings that cost nothing, and errors in strict mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transmission_bridge.description.findings import Findings
from transmission_bridge.description.robot_joints import RobotJoints
from transmission_bridge.description.specs import LinkSpec
from transmission_bridge.description.xml import Element

__all__ = ['check_tree']


def check_tree(
    root: Element, links: Sequence[LinkSpec], joints: RobotJoints, findings: Findings
) -> None:
    """
    Report joints without known links, links with two parents, loops and several roots.

    :param root: The robot element.
    """
    if not links:
        if joints.usable:
            findings.ignored(
                root, 'there is no kinematic tree', expected='links', found='joints only'
            )
        return
    # A link that was refused is still one that a joint may name.
    known = {element.get('name') for element in root.all('link')}
    parent_of: dict[str, str] = {}
    for joint in joints.usable:
        element = joints.element(joint)
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if not link:
                findings.ignored(
                    element,
                    f'joint without a {end} link',
                    expected=f'<{end} link="...">',
                    found='none',
                    subject=joint.name,
                )
            elif link not in known:
                findings.ignored(
                    element,
                    f'unknown {end} link',
                    expected='a link of the robot',
                    found=f"'{link}'",
                    subject=joint.name,
                )
        if joint.child in parent_of:
            findings.ignored(
                element,
                'the child link has another parent already',
                expected='a link that no other joint moves',
                found=f"'{joint.child}'",
                subject=joint.name,
            )
        elif joint.child and joint.parent:
            parent_of[joint.child] = joint.parent
    _check_loops(joints, parent_of, findings)
    roots = [link for link in links if link.name not in parent_of]
    if len(roots) > 1 and len(joints.usable) == len(root.all('joint')):
        findings.ignored(
            next(element for element in root.all('link') if element.path == roots[1].path),
            'the links form more than one tree',
            expected='one root link',
            found=', '.join(link.name for link in roots[:5]) + (', …' if len(roots) > 5 else ''),
        )


def _check_loops(joints: RobotJoints, parent_of: Mapping[str, str], findings: Findings) -> None:
    """Follow each link to its root once; a link met again on the same way closes a loop."""
    done: set[str] = set()
    for joint in joints.usable:
        way: dict[str, None] = {}
        link = joint.child
        while link in parent_of and link not in done and link not in way:
            way[link] = None
            link = parent_of[link]
        if link in way:
            findings.ignored(
                joints.element(joint),
                'the joints form a loop',
                expected='a tree',
                found=f"link '{link}' above itself",
                subject=joint.name,
            )
        done.update(way)
