# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Loops of an MJCF: ``<equality>`` and ``<tendon><fixed>``, in the frames of a URDF.

``connect`` and ``weld`` by bodies hold at qpos0. Bodies, joints and sites are matched to the URDF
by name. Bodies have to have the frames of their links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.document import Element
from transmission_bridge.spatial import (
    invert_pose,
    make_transform,
    rotation_from_quaternion,
)
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.found import (
    CouplingRow,
    Found,
    FoundLoop,
    Frame,
    JOINT,
    LINK,
    LoopMotor,
    pose_between,
    require_name,
)
from transmission_bridge.tools.loops.mjcf_model import ACTUATORS, Body, Mjcf
from transmission_bridge.transmissions.linkage import LoopType
from transmission_bridge.types import Array

#: Largest difference of a body's frame and its link's [m or 1]; files are rounded.
SAME_FRAME = 1e-3

Attributes = Mapping[str, str]


def read_mjcf(robot: RobotDescription, data: bytes, file: str) -> Found:
    """
    Return the loops of an MJCF.

    :param data: The file.
    :param file: Its name.
    :raises DescriptionError: If it is not XML.
    :raises UsageError: If it is damaged, a name is not in the URDF, or a frame is another one.
    """
    return _Reader(robot, Mjcf(data, file)).read()


class _Reader:
    """Matches the elements of a model to a URDF."""

    def __init__(self, robot: RobotDescription, model: Mjcf) -> None:
        self._robot, self._model = robot, model
        self._links = [link.name for link in robot.links]
        self._joints = [joint.name for joint in robot.joints if joint.is_scalar]
        self._at = {name: model.joints[name] for name in self._joints if name in model.joints}
        self._notes: list[str] = []

    def read(self) -> Found:
        """Return everything that is found."""
        loops: list[FoundLoop] = []
        rows: list[CouplingRow] = []
        readers: dict[str, Callable[..., Any]] = {
            'connect': partial(self._read_loop, 'point'),
            'weld': partial(self._read_loop, 'weld'),
            'joint': self._read_coupling,
        }
        for number, (each, values) in enumerate(self._model.list_elements('equality'), 1):
            name = values.get('name') or f'{each.tag}_{number}'
            if values.get('active') == 'false' or each.tag not in readers:
                self._notes.append(f"<{each.tag}> '{name}' is not read, or not active")
                continue
            found = readers[each.tag](name, each, values)
            if isinstance(found, FoundLoop):
                loops.append(found)
            else:
                rows.append(found)
        motors, driven = self._read_motors()
        rows += self._read_tendons(motors)
        return Found(tuple(loops), tuple(rows), driven, tuple(self._notes))

    def _place(self, at: Element) -> str:
        return f"'{self._model.file}': <{at.tag}> in line {at.line}"

    # -- loops ----------------------------------------------------------------------------------

    def _read_loop(self, type_: LoopType, name: str, at: Element, values: Attributes) -> FoundLoop:
        if 'site1' in values or 'site2' in values:
            one, other = (self._find_site(values.get(key, ''), at) for key in ('site1', 'site2'))
            return FoundLoop(name, type_, (one, other))
        bodies = [self._find_body(values.get(key, 'world'), at) for key in ('body1', 'body2')]
        self._check_frames(bodies, at)
        between = invert_pose(bodies[0].pose) @ bodies[1].pose
        first = make_transform(np.eye(3), self._numbers(values, 'anchor', '0 0 0', at)[:3])
        if type_ == 'weld':
            relative = self._numbers(values, 'relpose', '0 0 0 0 0 0 0', at)
            quaternion = np.array(relative[3:7])
            size = float(np.linalg.norm(quaternion))
            # Without an orientation it is the pose at qpos0.
            first = between
            if size > 0.0:
                first = make_transform(rotation_from_quaternion(quaternion / size), relative[:3])
            return FoundLoop(name, type_, (Frame(bodies[0].name, first), Frame(bodies[1].name)))
        second = invert_pose(between) @ first
        second[:3, :3] = np.eye(3)
        return FoundLoop(
            name, type_, (Frame(bodies[0].name, first), Frame(bodies[1].name, second))
        )

    def _numbers(self, values: Attributes, name: str, default: str, at: Element) -> list[float]:
        return self._model.numbers(values, name, default, at)

    def _find_body(self, name: str, at: Element) -> Body:
        require_name(name, self._model.bodies, 'body of this file', self._place(at))
        require_name(name, self._links, LINK, self._place(at))
        return self._model.bodies[name]

    def _find_site(self, name: str, at: Element) -> Frame:
        require_name(name, self._model.sites, 'site of this file', self._place(at))
        if name in self._links:  # the URDF has the same frame as a link
            return Frame(name)
        body, pose = self._model.sites[name]
        require_name(body.name, self._links, LINK, f"{self._place(at)}: body of site '{name}'")
        self._check_frames([body], at)
        return Frame(body.name, pose)

    def _check_frames(self, bodies: list[Body], at: Element) -> None:
        """Check that bodies, and those that carry them, have the frames of their links."""
        carriers = {each.name: each for body in bodies for each in body.line}
        base, *others = [each for name, each in carriers.items() if name in self._links]
        for each in others:
            stated = invert_pose(base.pose) @ each.pose
            drawn = pose_between(self._robot, base.name, each.name, self._at)
            apart = float(np.abs(stated - drawn).max())
            if apart > SAME_FRAME:
                raise UsageError(
                    f"{self._place(at)}: expected body '{each.name}' in the frame of its link, as "
                    f"seen from '{base.name}', found {apart:.3g} (m or 1) beside it; "
                    f'of the links, {self._nearest_link(base, stated)} is nearest'
                )

    def _nearest_link(self, base: Body, pose: Array) -> str:
        """Return the link whose frame is nearest to a pose in the frame of a link."""

        def apart(link: str) -> float:
            return float(np.abs(pose_between(self._robot, base.name, link, self._at) - pose).max())

        return repr(min(self._links, key=apart))

    # -- weighted sums of joints ----------------------------------------------------------------

    def _find_joint(self, values: Attributes, key: str, at: Element) -> str:
        return require_name(values.get(key), self._joints, JOINT, f'{self._place(at)}: {key}')

    def _read_coupling(self, name: str, at: Element, values: Attributes) -> CouplingRow:
        """``q1 - ref1 = c0 + c1 (q2 - ref2) + c2 (q2 - ref2)^2 + ...``."""
        one = self._find_joint(values, 'joint1', at)
        given = self._numbers(values, 'polycoef', '0', at)
        stated = Polynomial([*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :]])
        if 'joint2' not in values:
            return CouplingRow(name, {one: 1.0}, self._at.get(one, 0.0) + stated(0.0))
        other = self._find_joint(values, 'joint2', at)
        curve = self._at.get(one, 0.0) + stated(Polynomial([-self._at.get(other, 0.0), 1.0]))
        constant, slope, *rest = curve.coef.tolist()
        weights = {one: 1.0, other: -slope}
        return CouplingRow(name, weights, constant, curve=curve if any(rest) else None)

    def _read_motors(self) -> tuple[dict[str, LoopMotor], dict[str, LoopMotor]]:
        """Return the motors of tendons and of joints, by their names."""
        motors: dict[str, LoopMotor] = {}
        driven: dict[str, LoopMotor] = {}
        for each, values in self._model.list_elements('actuator'):
            gear = self._numbers(values, 'gear', '1', each)[0] or 1.0
            for key, turned in (('tendon', motors), ('joint', driven)):
                if each.tag in ACTUATORS and key in values:
                    name = values.get('name') or f'{values[key]}_motor'
                    turned[values[key]] = LoopMotor(name, gear)
        return motors, {name: motor for name, motor in driven.items() if name in self._joints}

    def _read_tendons(self, motors: Mapping[str, LoopMotor]) -> Iterator[CouplingRow]:
        for number, (each, values) in enumerate(self._model.list_elements('tendon'), 1):
            name = values.get('name') or f'tendon_{number}'
            if each.tag != 'fixed' or name not in motors:
                self._notes.append(f"tendon '{name}' is not fixed, or no motor moves it")
                continue
            weights = {
                self._find_joint(part.attributes, 'joint', part): self._numbers(
                    part.attributes, 'coef', '1', part
                )[0]
                for part in each.find_all('joint')
            }
            yield CouplingRow(name, weights, 0.0, motors[name])
