# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The actuator that a ``<ros2_control type="actuator">`` block implies.

It is called ``actuator1`` where that is unique in the robot, else ``<block>_actuator1``: several
such blocks are usual, and ros2_control calls all their actuators the same. None is implied where
one is declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from transmission_bridge.description.control_specs import MemberSpec
from transmission_bridge.description.draft import Draft
from transmission_bridge.description.findings import Findings

__all__ = ['with_implied_actuators']

_NAME = 'actuator1'


def with_implied_actuators(drafts: Sequence[Draft], findings: Findings) -> list[Draft]:
    """
    Return the drafts, each that lacks an actuator with the implied one.

    :param drafts: All transmissions of the robot. Refused ones count for uniqueness too, so that
        mending one transmission does not rename the actuator of another.
    """
    names = Counter(name for draft in drafts for name in draft.summary.actuators)
    names[_NAME] += sum(draft.lacks_actuator for draft in drafts)
    return [_completed(draft, names[_NAME] == 1, findings) for draft in drafts]


def _completed(draft: Draft, unique: bool, findings: Findings) -> Draft:
    spec = draft.spec
    if not draft.lacks_actuator or spec is None:
        return draft
    name = _NAME if unique else f'{spec.block}_{_NAME}'
    if unique:
        findings.info(draft.element, f"actuator '{name}' is implied", subject=spec.name)
    else:
        findings.warning(
            draft.element,
            f"actuator '{name}' is implied",
            expected=f"'{_NAME}', were it unique in the robot",
            found='more than one',
            subject=spec.name,
        )
    (joint,) = spec.joints
    actuator = MemberSpec(
        name=name,
        role=_NAME,
        command_interfaces=joint.command_interfaces,
        state_interfaces=joint.state_interfaces,
        line=draft.element.line,
        path=draft.element.path,
    )
    return replace(
        draft,
        spec=replace(spec, actuators=(actuator,)),
        summary=replace(draft.summary, actuators=(name,)),
    )
