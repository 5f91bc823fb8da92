# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Loops of a URDF as paths of joints: from the common ancestor to both frames.

Linkages and ``loops`` read paths; the builder, ``check`` and the compiler ask for the joints of a
linkage. URDFs spell the types of loops. The same motions give the same expressions to the last
bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from transmission_bridge.description import (
    JointSpec,
    LinkSpec,
    ParameterSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import closest, TransmissionError
from transmission_bridge.types import Array

#: Role of a joint that a motor turns, for messages.
DRIVEN = 'driven joint'

#: Types of loops, as URDFs spell them.
LoopType: TypeAlias = Literal['point', 'hinge', 'weld', 'rod']

#: Number of equations of a loop of each type.
LOOP_TYPES: dict[LoopType, int] = {'point': 3, 'hinge': 5, 'weld': 6, 'rod': 1}

#: Largest deviation of axes from parallel or perpendicular [rad].
ACROSS = 1e-5

#: Smaller entries of constant transforms are rounding errors of roll, pitch and yaw.
ROUNDING = 1e-15


class LinkageJointMotion(NamedTuple):
    """
    One joint on a path: ``q = scale z + offset`` about or along the unit vector ``axis``.

    ``variable`` is the index of ``z`` among the joints of the linkage.
    """

    variable: int
    axis: tuple[float, float, float]
    slides: bool
    scale: float
    offset: float


#: A constant transform, shape ``(4, 4)``, or a joint.
Element: TypeAlias = 'Array | LinkageJointMotion'


@dataclass(frozen=True)
class Loop:
    """
    A closure between two links of the URDF.

    Its frames have a common origin (``point``), origin and axis (``hinge``), origin and axes
    (``weld``), or a constant distance of the origins (``rod``). ``axis`` of a hinge is given in
    both frames. ``length`` of a rod [m] is ``None`` to keep its length at the start. ``at`` is its
    element, for errors.
    """

    type: LoopType
    frame1: str
    frame2: str
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    length: float | None = None
    at: ParameterSpec | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return type and frames."""
        return f"{self.type} '{self.frame1}' - '{self.frame2}'"


def list_motions(elements: Iterable[Element]) -> list[LinkageJointMotion]:
    """Return the joints among elements."""
    return [each for each in elements if isinstance(each, LinkageJointMotion)]


@dataclass(frozen=True)
class LinkageLoopPath:
    """A loop with the elements from the common ancestor outwards to each of its frames."""

    loop: Loop
    to_frame1: tuple[Element, ...]
    to_frame2: tuple[Element, ...]

    @property
    def motions(self) -> list[LinkageJointMotion]:
        """The joints of the loop, including mimics."""
        return list_motions((*self.to_frame1, *self.to_frame2))

    @property
    def variables(self) -> frozenset[int]:
        """Indices of the joints that the loop depends on."""
        return frozenset(motion.variable for motion in self.motions)

    @property
    def is_planar(self) -> bool:
        """Return whether all axes of rotation are parallel and sliding axes are perpendicular."""
        turning: list[Array] = []
        sliding: list[Array] = []
        for elements in (self.to_frame1, self.to_frame2):
            rotation = np.eye(3)
            for element in elements:
                if isinstance(element, LinkageJointMotion):
                    (sliding if element.slides else turning).append(rotation @ element.axis)
                else:
                    rotation = rotation @ element[:3, :3]
        along = np.array(turning) @ turning[0] if turning else np.zeros(1)
        across = np.array(sliding).reshape(-1, 3) @ (turning or [np.zeros(3)])[0]
        return bool((1.0 - np.abs(along) < ACROSS**2).all() and (np.abs(across) < ACROSS).all())


class LinkageTree:
    """The joints of a robot, from which the paths of loops are read."""

    def __init__(self, joints: Sequence[JointSpec], links: Sequence[LinkSpec]) -> None:
        self._joints = {joint.name: joint for joint in joints}
        self._above = {joint.child: joint for joint in joints}
        self._links = {link.name for link in links}

    def require_joint(self, name: str, role: str) -> JointSpec:
        """
        Return a joint with one coordinate; ``role`` names the request in messages.

        :raises TransmissionError: If the joint does not exist, or has another number of
            coordinates.
        """
        joint = self._joints.get(name)
        if joint is None:
            raise TransmissionError(
                f"{role}: '{name}' is not a joint of this URDF{closest(name, self._joints)}",
                expected=f"its joint '{above.name}', because '{name}' is a link"
                if (above := self._above.get(name)) is not None
                else '<param name="joint"> in its actuator: the joint that the motor turns'
                if role == DRIVEN
                else 'a revolute, continuous or prismatic joint',
                found=repr(name),
            )
        if not joint.is_scalar:
            raise TransmissionError(
                f"{role}: joint '{name}' is {joint.type}",
                expected='a revolute, continuous or prismatic joint',
                found=joint.type,
                at=joint,
            )
        return joint

    def find_mimicked(self, joint: JointSpec) -> tuple[JointSpec, float, float]:
        """
        Return the joint at the end of a chain of ``<mimic>``, with its multiplier and offset.

        :raises TransmissionError: If the chain has an unknown joint or a cycle.
        """
        scale, offset, seen = 1.0, 0.0, {joint.name}
        while joint.mimic is not None:
            offset += scale * joint.mimic.offset
            scale *= joint.mimic.multiplier
            joint = self.require_joint(joint.mimic.joint, f"<mimic> of '{joint.name}'")
            if joint.name in seen:
                raise TransmissionError(
                    f"the <mimic> of joint '{joint.name}' follows itself",
                    expected='a joint that does not mimic it',
                    found=', '.join(sorted(seen)),
                    at=joint,
                )
            seen.add(joint.name)
        return joint, scale, offset

    def find_path(self, loop: Loop, variables: dict[str, int]) -> LinkageLoopPath:
        """
        Return the path of a loop; new joints are added to ``variables``, their indices by name.

        The caller gives the driven joints first, and asks for the loops in their order.

        :raises TransmissionError: If a frame is not a link, both are on one rigid body or not
            connected, or a joint between them has several coordinates.
        """
        self.check_frames(loop)
        frames = loop.frame1, loop.frame2
        chains = [_list_joints_above(self._above, frame)[::-1] for frame in frames]
        roots = []
        for frame, chain in zip(frames, chains, strict=True):
            roots.append(chain[0].parent if chain else frame)
            if chain and roots[-1] in self._above:
                raise TransmissionError(
                    f"loop {loop}: the links above '{frame}' form a cycle",
                    expected='a tree',
                    found=', '.join(joint.name for joint in chain[:-6:-1]),
                )
        if roots[0] != roots[1]:
            raise TransmissionError(
                f'loop {loop}: its frames are not connected, or a joint between them has an error',
                expected='one link at the end of both paths against the joints',
                found=' and '.join(map(repr, roots)),
                at=loop.at,
            )
        common = sum(one is other for one, other in zip(*chains, strict=False))
        first, second = (self._path_elements(chain[common:], loop, variables) for chain in chains)
        path = LinkageLoopPath(loop, first, second)
        if not path.variables:
            raise TransmissionError(
                f'loop {loop}: no joint moves one frame against the other',
                expected='frames with a joint between them',
                found='one rigid body',
                at=loop.at,
            )
        return path

    def check_frames(self, loop: Loop) -> None:
        """
        Check that the frames of a loop are links.

        :raises TransmissionError: If one of them is not a link.
        """
        for frame in (loop.frame1, loop.frame2):
            if frame in self._links or frame in self._above:
                continue
            joint = self._joints.get(frame)
            near = closest(frame, sorted(self._links)) if joint is None else ''
            raise TransmissionError(
                f"loop {loop}: '{frame}' is not a link of this URDF{near}",
                expected='the name of a link'
                if joint is None
                else f"its child link '{joint.child}', because '{frame}' is a joint",
                found=repr(frame),
                at=loop.at,
            )

    def _path_elements(
        self, chain: Sequence[JointSpec], loop: Loop, variables: dict[str, int]
    ) -> tuple[Element, ...]:
        elements: list[Element] = []
        constant = np.eye(4)
        for joint in chain:
            (cr, sr), (cp, sp), (cy, sy) = ((math.cos(x), math.sin(x)) for x in joint.origin.rpy)
            origin = np.eye(4)
            origin[:3, :3] = [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
            origin[:3, 3] = joint.origin.xyz
            constant = constant @ origin
            if joint.type == 'fixed':
                continue
            if not joint.is_scalar:
                raise TransmissionError(
                    f"loop {loop}: joint '{joint.name}' between its frames is {joint.type}",
                    expected='fixed, revolute, continuous or prismatic joints',
                    found=joint.type,
                    at=joint,
                )
            base, scale, offset = self.find_mimicked(joint)
            variable = variables.setdefault(base.name, len(variables))
            motion = LinkageJointMotion(
                variable, joint.axis, joint.type == 'prismatic', scale, offset
            )
            elements += [_clean_transform(constant), motion]
            constant = np.eye(4)
        return (*elements, _clean_transform(constant))


def _list_joints_above(above: Mapping[str, JointSpec], link: str) -> list[JointSpec]:
    """Return the joints from a link towards the root, each once, by the links below them."""
    chain: dict[str, JointSpec] = {}
    while link in above and link not in chain:
        chain[link] = above[link]
        link = above[link].parent
    return [*chain.values()]


def reverse_linkage_path(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Return a path in the opposite direction."""
    path: list[Element] = []
    for element in reversed(elements):
        if isinstance(element, LinkageJointMotion):
            path.append(element._replace(scale=-element.scale, offset=-element.offset))
        else:
            inverse = np.eye(4)
            inverse[:3, :3] = element[:3, :3].T
            inverse[:3, 3] = -element[:3, :3].T @ element[:3, 3]
            path.append(_clean_transform(inverse))
    return tuple(path)


def _clean_transform(transform: Array) -> Array:
    # Rounded zeros would make every later expression eight times as long.
    result = np.where(np.abs(transform) < ROUNDING, 0.0, transform)
    result.setflags(write=False)
    return result


def list_linkage_joints(
    robot: RobotDescription, spec: TransmissionSpec, *, fixed: bool = False
) -> set[str]:
    """
    Return all joints that a linkage moves, as far as its loops can be read.

    If one frame of a loop is not a link, the junction of its two paths is unknown: the other path
    counts up to its last joint that the linkage names. A transmission without loops has no such
    joints.

    :param fixed: Whether to include the fixed joints of the loops.
    """
    loops = [dict(element.attributes) for element in spec.parameters if element.name == 'loop']
    if not loops and not spec.type.endswith('/LinkageTransmission'):
        return set()
    above = {joint.child: joint for joint in robot.joints}
    links = {*above, *(link.name for link in robot.links)}
    scalar = {joint.name: joint for joint in robot.joints if joint.is_scalar}
    moved = {joint.name for joint in spec.joints}
    for actuator in spec.actuators:
        driven = (element.value for element in actuator.parameters if element.name == 'joint')
        moved.add(next(driven, actuator.name))
    named = frozenset(moved)
    for loop in loops:
        is_closed = all(loop.get(name) in links for name in ('frame1', 'frame2'))
        sides = []
        for name in ('frame1', 'frame2'):
            side = [joint.name for joint in _list_joints_above(above, loop.get(name, ''))]
            while not is_closed and side and side[-1] not in named:
                side.pop()
            sides.append(set(side))
        moved |= sides[0] ^ sides[1]
    more = moved
    while more:
        mimics = (scalar[name].mimic for name in more if name in scalar)
        more = {mimic.joint for mimic in mimics if mimic is not None} - moved
        moved |= more
    return moved.intersection([joint.name for joint in robot.joints] if fixed else scalar)
