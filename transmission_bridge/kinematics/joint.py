# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A joint: its links, rest pose and limits, and the positions, motions and forces across it.

Conventions follow iDynTree's IJoint (S. Traversaro, "Modelling, Estimation and
Identification of Humanoid Robots Dynamics", section 3.2): ``p_child = child_H_parent p_parent``,
and body-fixed 6-vectors, linear part first.

Every type of joint is one formula, ``link1_H_link2(q) = link1_H_m M(q) m_H_link2``: constant
transforms on both sides of a motion frame, in which the joint moves along or about coordinate
axes. A type is the set of unit twists of the motion frame that are free.

Users call it; trees and devices use its motion frames, twists and offsets. Joints are immutable.
The page for users lists the methods beside the names of iDynTree, and a test checks them: names,
frames, signs and units are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import JointType, MimicSpec
from transmission_bridge.errors import ShapeError, TransmissionBridgeError
from transmission_bridge.spatial import (
    apply_matrix,
    axis_basis,
    chain_poses,
    cross_motion,
    invert_pose,
    make_transform,
    quaternion_rate,
    rotation_about,
    rotation_from_quaternion,
    skew_matrix,
    twist_transform,
)
from transmission_bridge.transmissions import as_map_values
from transmission_bridge.types import Array

#: A link's name, or its number in a model.
LinkId = str | int

#: iDynTree's bounds before any are set: the largest finite number.
LARGEST = float(np.finfo(np.float64).max)

#: The free unit twists of the motion frame by type: 0 to 2 along, 3 to 5 about x, y, z.
TWISTS: dict[JointType, tuple[int, ...]] = {
    'fixed': (),
    'revolute': (5,),
    'continuous': (5,),
    'prismatic': (2,),
    'planar': (0, 1, 5),
    'spherical': (3, 4, 5),
    'floating': (0, 1, 2, 3, 4, 5),
}
#: Types that need a direction of the axis, and types that may have position limits.
WITH_AXIS = ('revolute', 'continuous', 'prismatic', 'planar')
WITH_BOUNDS = ('revolute', 'prismatic')


class JointError(TransmissionBridgeError, ValueError):
    """
    A joint, a device or a query is invalid.

    :param joint: Name of the joint or device, or an empty string.
    :param message: The problem in one sentence without the name.
    """

    def __init__(self, joint: str, message: str) -> None:
        self.joint = joint
        super().__init__(f"'{joint}': {message}" if joint else message)


class JointIndexError(TransmissionBridgeError, IndexError):
    """
    The index of a coordinate or of a degree of freedom is out of range.

    iDynTree leaves the result undefined; this package raises.

    :param joint: Name of the joint.
    :param kind: ``position coordinate`` or ``degree of freedom``.
    :param index: The given index.
    :param size: Number of coordinates or degrees of freedom.
    """

    def __init__(self, joint: str, *, kind: str, index: int, size: int) -> None:
        self.joint = joint
        self.kind = kind
        self.index = index
        self.size = size
        place = f"joint '{joint}': " if joint else ''
        super().__init__(f'{place}{kind} {index} is not in [0, {size})')


class _PerDof(tuple[float, ...]):
    """A number per degree of freedom; a negative index is out of range, as for a joint."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice) and not 0 <= index < len(self):
            raise JointIndexError('', kind='degree of freedom', index=index, size=len(self))
        return super().__getitem__(index)


def _set_per_dof(kind: str, owner: object, *names: str) -> None:
    """Convert fields of a frozen record to their final type, all of one length."""
    size = len(getattr(owner, names[0]))
    for name in names:
        values = _PerDof(getattr(owner, name))
        if len(values) != size:
            raise ShapeError(kind, expected=f'({size},)', found=(len(values),))
        object.__setattr__(owner, name, values)


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """
    Position bounds, velocity and effort magnitudes, each with a switch, as in iDynTree's IJoint.

    A limit applies only if its switch is on. Every tuple has one entry per degree of freedom.

    :param lower: Smallest positions [rad or m].
    :param upper: Largest positions [rad or m].
    :param velocity: Largest speeds [rad/s or m/s].
    :param effort: Largest efforts [N m or N].
    :param has_position: Whether ``lower`` and ``upper`` apply.
    :param has_velocity: Whether ``velocity`` applies.
    :param has_effort: Whether ``effort`` applies.
    :raises ShapeError: If the tuples differ in length.
    :raises JointIndexError: If an entry is read by a negative index or one out of range.
    """

    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    has_position: bool = False
    has_velocity: bool = False
    has_effort: bool = False

    def __post_init__(self) -> None:
        _set_per_dof('limits', self, 'lower', 'upper', 'velocity', 'effort')

    @classmethod
    def unlimited(cls, n_dofs: int) -> MotionLimits:
        """
        Return the limits of a new joint in iDynTree: every switch is off.

        :param n_dofs: Number of degrees of freedom.
        :returns: Bounds of plus and minus the largest finite number [rad or m], magnitudes zero.
        """
        zeros = (0.0,) * n_dofs
        return cls((-LARGEST,) * n_dofs, (LARGEST,) * n_dofs, zeros, zeros)


class JointDynamicsType(IntEnum):
    """The friction model of a joint; names and numbers as in iDynTree."""

    #: No friction: the numbers are ignored.
    NONE = 0
    #: ``<dynamics>`` of URDF: viscous damping and static friction.
    URDF = 1


@dataclass(frozen=True, slots=True)
class JointDynamics:
    """
    Friction in a joint, as in iDynTree's IJoint; kinematics does not use it.

    :param type: Whether the numbers apply.
    :param damping: Viscous damping [N m s/rad or N s/m], one entry per degree of freedom.
    :param static_friction: Static friction [N m or N], one entry per degree of freedom.
    :raises ShapeError: If the tuples differ in length.
    :raises JointError: If a number is negative or not finite.
    :raises JointIndexError: As for :class:`MotionLimits`.
    :raises ValueError: If ``type`` is not a :class:`JointDynamicsType`.
    """

    type: JointDynamicsType = JointDynamicsType.NONE
    damping: tuple[float, ...] = ()
    static_friction: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, 'type', JointDynamicsType(self.type))
        _set_per_dof('dynamics', self, 'damping', 'static_friction')
        for name in ('damping', 'static_friction'):
            values = getattr(self, name)
            if not all(0.0 <= value < np.inf for value in values):
                raise JointError('', f'{name} must be finite and not negative, not {values}')

    @classmethod
    def lossless(cls, n_dofs: int) -> JointDynamics:
        """
        Return the dynamics of a new joint in iDynTree: type ``NONE``, every number zero.

        :param n_dofs: Number of degrees of freedom.
        :returns: Zero damping [N m s/rad or N s/m] and friction [N m or N].
        """
        return cls(JointDynamicsType.NONE, (0.0,) * n_dofs, (0.0,) * n_dofs)


class ChildMotion(NamedTuple):
    """
    Position, velocity and acceleration of a link.

    :param position: ``world_H_child``, shape ``(..., 4, 4)`` [translation in m].
    :param velocity: Body twist, shape ``(..., 6)`` [m/s; rad/s].
    :param acceleration: Time derivative of the body twist, shape ``(..., 6)`` [m/s²; rad/s²].
    """

    position: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """
    A joint between ``link1`` and ``link2``; queries name the parent and the child.

    The types are URDF's types. Positions and velocities follow iDynTree if it has the type:

    - ``fixed``: no coordinates.
    - ``revolute``, ``continuous``: the angle of ``link2`` about the axis [rad], not reduced to a
      turn.
    - ``prismatic``: the travel of ``link2`` along the axis [m].
    - ``planar``: ``(x, y, angle)`` across and about the axis [m, m, rad]. If the axis is the z
      axis of ``link2``, ``x`` and ``y`` are its x and y at rest; for an x axis they are y and z,
      for a y axis z and x.
    - ``spherical``: a quaternion ``(w, x, y, z)``, ``link1_R_link2 = rest R(q)``.
    - ``floating``: ``(p_x, p_y, p_z, w, x, y, z)`` [m; quaternion],
      ``link1_H_link2 = rest [[R(q), p], [0, 1]]``.

    A quaternion may have any length except zero; it is normalised before use. Velocities of the
    last three types are the free entries of the body twist of ``link2`` relative to ``link1`` in
    the motion frame [m/s; rad/s]. For the last two types, the axes of the motion frame are those
    of ``link2``.

    ``q``, ``dq`` and ``ddq`` are vectors of positions, velocities and accelerations of the whole
    model. The joint reads its entries from ``position_offset`` (of ``q``) or ``dof_offset`` (of
    ``dq``, ``ddq``) on. With the default offsets of zero, the vectors may hold the joint's own
    coordinates alone, or be a plain number for a single coordinate. Leading axes are batches and
    broadcast.

    Use :func:`dataclasses.replace` to change a joint; the result is checked again.

    :param link1: First attached link, a name or a number.
    :param link2: Second attached link, different from the first.
    :param type: URDF's name of the type.
    :param rest: ``link1_H_link2`` at the rest position, shape ``(4, 4)`` [translation in m].
    :param axis: Direction of the axis in ``link1``, shape ``(3,)``, of any length except zero;
        ignored for types without an axis.
    :param origin: A point of the axis, or the centre of a spherical joint, in ``link1`` [m], shape
        ``(3,)``; ignored for fixed and floating joints.
    :param name: The joint's name.
    :param index: Index among the joints of the model, ``-1`` if not in a model.
    :param position_offset: Index of its first coordinate in a vector of positions.
    :param dof_offset: Index of its first degree of freedom in a vector of velocities.
    :param limits: Motion limits; unlimited if empty.
    :param dynamics: Friction; zero if empty.
    :param mimic: The joint that this joint follows in a device, if any.
    :raises ShapeError: If an array has another shape, or the number of entries of ``limits`` or
        ``dynamics`` differs from the number of degrees of freedom; in queries, if a vector is too
        short for the joint's offset.
    :raises JointError: If the type does not exist, both links are the same, an offset is negative,
        ``rest`` is not a rotation and a translation (to 1e-4), ``origin`` is not finite, the axis
        has no direction, or position limits are enabled for a type other than revolute and
        prismatic; in queries, if the links are not the two links of the joint, or a quaternion has
        length zero.
    """

    link1: LinkId
    link2: LinkId
    type: JointType = 'fixed'
    rest: Array = field(default_factory=lambda: np.eye(4), repr=False)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]), repr=False)
    origin: Array = field(default_factory=lambda: np.zeros(3), repr=False)
    name: str = ''
    index: int = -1
    position_offset: int = 0
    dof_offset: int = 0
    limits: MotionLimits = field(default=MotionLimits(), repr=False)
    dynamics: JointDynamics = field(default=JointDynamics(), repr=False)
    mimic: MimicSpec | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.type not in TWISTS:
            raise JointError(self.name, f'{self.type!r} is not one of {", ".join(TWISTS)}')
        if self.link1 == self.link2:
            raise JointError(self.name, f'both ends are attached to link {self.link1!r}')
        if self.position_offset < 0 or self.dof_offset < 0:
            raise JointError(self.name, 'an offset in a vector cannot be negative')
        for name, shape in (('rest', (4, 4)), ('axis', (3,)), ('origin', (3,))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise ShapeError(name, expected=str(shape), found=array.shape)
            if name == 'axis' and self.type in WITH_AXIS:
                length = np.linalg.norm(array)
                if not (0.0 < length < np.inf):
                    raise JointError(self.name, f'axis {tuple(array.tolist())} has no direction')
                array = array / length
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        rotation = self.rest[:3, :3]
        is_pose = np.isfinite(self.rest).all() and (self.rest[3] == (0.0, 0.0, 0.0, 1.0)).all()
        is_pose = is_pose and np.abs(rotation @ rotation.T - np.eye(3)).max() <= 1e-4
        if not (is_pose and np.linalg.det(rotation) > 0.0):
            message = f'rest must be a rotation and a translation, not {self.rest.tolist()}'
            raise JointError(self.name, message)
        if not np.isfinite(self.origin).all():
            raise JointError(self.name, f'origin must be finite, not {self.origin.tolist()}')
        if self.limits == MotionLimits():
            object.__setattr__(self, 'limits', MotionLimits.unlimited(self.n_dofs))
        if self.dynamics == JointDynamics():
            object.__setattr__(self, 'dynamics', JointDynamics.lossless(self.n_dofs))
        for name, values in (('limits', self.limits.lower), ('dynamics', self.dynamics.damping)):
            if len(values) != self.n_dofs:
                raise ShapeError(name, expected=f'({self.n_dofs},)', found=(len(values),))
        if self.limits.has_position and self.type not in WITH_BOUNDS:
            raise JointError(self.name, 'a joint of this type has no position limits')

    @cached_property
    def twists(self) -> tuple[int, ...]:
        """The free unit twists of the motion frame: 0 to 2 along, 3 to 5 about x, y, z."""
        return TWISTS[self.type]

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom, 0 (fixed) to 6 (floating) (getNrOfDOFs)."""
        return len(self.twists)

    @property
    def n_positions(self) -> int:
        """Number of coordinates of the position; a quaternion has four (getNrOfPosCoords)."""
        return self.n_dofs + self._has_quaternion

    @property
    def is_scalar(self) -> bool:
        """Whether one number is its position: revolute, continuous or prismatic."""
        return self.n_dofs == 1

    @cached_property
    def motion_frames(self) -> tuple[Array, Array]:
        """The constant transforms ``link1_H_m`` and ``m_H_link2`` around :meth:`motion` [m]."""
        rotation, position = self.rest[:3, :3], self.rest[:3, 3]
        has_axis = self.type in WITH_AXIS
        basis = axis_basis(rotation.T @ self.axis) if has_axis else np.eye(3)
        centre = self.origin if has_axis or self.type == 'spherical' else position
        link1_h_m = make_transform(rotation @ basis, centre)
        m_h_link2 = make_transform(basis.T, basis.T @ (rotation.T @ (position - centre)))
        for frame in (link1_h_m, m_h_link2):
            frame.setflags(write=False)
        return link1_h_m, m_h_link2

    def motion(self, coordinates: Array) -> Array:
        """
        Return ``M(q)``, the motion in the motion frame.

        :param coordinates: Those of this joint, shape ``(..., n_positions)``.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        position = np.zeros((*coordinates.shape[:-1], 3))
        position[..., self._linear_axes] = coordinates[..., : len(self._linear_axes)]
        return make_transform(self._motion_rotation(coordinates), position)

    def axis_in(self, link: LinkId) -> tuple[Array, Array]:
        """
        Return axis and origin in a link's frame, at rest (getAxis, getJointCenter).

        :param link: One of the two links.
        :returns: Direction, a unit vector if the type has an axis, and a point of the axis or the
            centre [m], each of shape ``(3,)``.
        :raises JointError: If the joint is not attached to the link.
        """
        if link not in (self.link1, self.link2):
            raise JointError(self.name, f'is not attached to link {link!r}')
        to_link = invert_pose(self.rest) if link == self.link2 else np.eye(4)
        return to_link[:3, :3] @ self.axis, to_link[:3, :3] @ self.origin + to_link[:3, 3]

    def rest_positions(self) -> Array:
        """
        Return the coordinates of the rest position (setJointPosCoordsToRest).

        :returns: Zeros, and ``1, 0, 0, 0`` for a quaternion, shape ``(n_positions,)`` [rad, m].
        """
        positions = np.zeros(self.n_positions)
        if self._has_quaternion:
            positions[-4] = 1.0
        return positions

    def normalized_positions(self, q: npt.ArrayLike) -> Array:
        """
        Return the joint's own coordinates, a quaternion with length one (normalizeJointPosCoords).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :returns: Shape ``(..., n_positions)`` [rad or m].
        """
        coordinates = np.array(self._own_part(q))
        if self._has_quaternion:
            coordinates[..., -4:] = self._unit_quaternion(coordinates)[0]
        return coordinates

    def position_rate_jacobian(self, q: npt.ArrayLike) -> Array:
        """
        Return the matrix from own velocities to rates of own coordinates.

        It is the identity for joints with one coordinate (getPositionDerivativeVelocityJacobian).
        For a quaternion it returns the rate of the normalised quaternion.

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :returns: Shape ``(..., n_positions, n_dofs)``.
        """
        coordinates = self._own_part(q)
        linear, n = self._linear_axes, len(self._linear_axes)
        matrix = np.zeros((*coordinates.shape[:-1], self.n_positions, self.n_dofs))
        # The velocity is in the rotated axes of link2.
        matrix[..., :n, :n] = self._motion_rotation(coordinates)[..., linear, :][..., linear]
        if self._has_quaternion:
            matrix[..., n:, n:] = quaternion_rate(self._unit_quaternion(coordinates)[0])
        else:
            matrix[..., n:, n:] = np.eye(self.n_dofs - n)
        return matrix

    def rest_transform(self, child: LinkId, parent: LinkId) -> Array:
        """
        Return ``child_H_parent`` at the rest position (getRestTransform).

        :param child: One attached link.
        :param parent: The other one.
        :returns: Shape ``(4, 4)`` [translation in m].
        """
        return invert_pose(self.rest) if self._child_is_link2(child, parent) else self.rest.copy()

    def transform(self, q: npt.ArrayLike, child: LinkId, parent: LinkId) -> Array:
        """
        Return ``child_H_parent``, ``p_child = child_H_parent p_parent`` (getTransform).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param child: One attached link.
        :param parent: The other one.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        to_link2 = self._child_is_link2(child, parent)
        before, after = self.motion_frames
        link1_h_link2 = chain_poses(chain_poses(before, self.motion(self._own_part(q))), after)
        return invert_pose(link1_h_link2) if to_link2 else link1_h_link2

    def transform_derivative(
        self, q: npt.ArrayLike, child: LinkId, parent: LinkId, position: int = 0
    ) -> Array:
        """
        Return ``∂ child_H_parent / ∂ q_i`` (getTransformDerivative).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param child: One attached link.
        :param parent: The other one.
        :param position: ``i``, counted within the joint.
        :returns: Shape ``(..., 4, 4)``, last row zero [1/rad or 1/m; translation m/rad or m/m].
        :raises JointIndexError: If ``position`` is out of range.
        """
        to_link2 = self._child_is_link2(child, parent)
        if not 0 <= position < self.n_positions:
            raise JointIndexError(
                self.name, kind='position coordinate', index=position, size=self.n_positions
            )
        before, after = self.motion_frames
        coordinates = self._own_part(q)
        motion = np.zeros((*coordinates.shape[:-1], 4, 4))
        linear = self._linear_axes
        if position < len(linear):
            motion[..., linear[position], 3] = 1.0
        elif self._has_quaternion:
            unit, length = self._unit_quaternion(coordinates)
            entry = position - len(linear)
            # The entry changes the unit quaternion perpendicular to itself only: (e_i - u u_i) /
            # |q|. The rotation is quadratic: R(u + v) = R(u) + dR(v) + R(v) - I.
            across = np.eye(4)[entry] - unit * unit[..., entry : entry + 1]
            moved, rest, own = map(rotation_from_quaternion, (unit + across, unit, across))
            motion[..., :3, :3] = (moved - rest - own + np.eye(3)) / length[..., np.newaxis]
        else:
            motion[..., :3, :3] = self._motion_rotation(coordinates) @ skew_matrix([0.0, 0.0, 1.0])
        derivative = before @ motion @ after
        if not to_link2:
            return derivative
        link2_h_link1 = self.transform(q, child, parent)
        return -(link2_h_link1 @ derivative @ link2_h_link1)

    def motion_subspace(
        self, child: LinkId, parent: LinkId, q: npt.ArrayLike | None = None
    ) -> Array:
        """
        Return ``S`` of ``v_child = S dq + child_X_parent v_parent``.

        Twists are body twists, linear part first, in the child's frame.

        :param child: One attached link.
        :param parent: The other one.
        :param q: Positions, shape ``(..., N)`` [rad or m]; required if ``link1`` is the child of a
            joint with several degrees of freedom, because ``S`` then depends on it.
        :returns: Shape ``(..., 6, n_dofs)`` with the batch axes of ``q``, ``(6, n_dofs)`` without
            ``q`` [m/rad, or 1; then rad/rad, or 1/m].
        :raises JointError: If ``q`` is required and missing.
        """
        own = None if q is None else self._own_part(q)
        before, after = self.motion_frames
        if self._child_is_link2(child, parent):
            subspace = twist_transform(invert_pose(after))[:, self.twists]
        else:
            # v_2 = X_21 v_1 + S dq solved for v_1. A single twist does not change with its motion.
            if self.n_dofs > 1:
                if own is None:
                    message = f'the motion subspace seen from {child!r} depends on the position'
                    raise JointError(self.name, message)
                before = chain_poses(before, self.motion(own))
            subspace = -twist_transform(before)[..., self.twists]
        batch = () if own is None else own.shape[:-1]
        return np.array(np.broadcast_to(subspace, (*batch, 6, self.n_dofs)))

    def child_velocity(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        parent_velocity: npt.ArrayLike,
        child: LinkId,
        parent: LinkId,
    ) -> Array:
        """
        Return ``v_child = child_X_parent v_parent + S dq`` (computeChildVel).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param parent_velocity: Body twist in the parent's frame, shape ``(..., 6)`` [m/s; rad/s].
        :param child: One attached link.
        :param parent: The other one.
        :returns: Body twist in the child's frame, shape ``(..., 6)`` [m/s; rad/s].
        """
        return self.child_velocity_acceleration(
            q, dq, None, parent_velocity, np.zeros(6), child, parent
        )[0]

    def child_velocity_acceleration(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        ddq: npt.ArrayLike | None,
        parent_velocity: npt.ArrayLike,
        parent_acceleration: npt.ArrayLike,
        child: LinkId,
        parent: LinkId,
    ) -> tuple[Array, Array]:
        """
        Return velocity and acceleration of the child together (computeChildVelAcc).

        The acceleration alone is computeChildAcc, and computeChildBiasAcc if ``ddq`` is zero.

        ``v_child = child_X_parent v_parent + S dq`` and
        ``a_child = child_X_parent a_parent + S ddq + v_child × (S dq)``: ``S`` is constant in one
        of the two links, and in the other ``dS/dt dq`` is zero.

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param ddq: Accelerations, shape ``(..., M)`` [rad/s² or m/s²]; ``None`` for zero.
        :param parent_velocity: Body twist in the parent's frame, shape ``(..., 6)`` [m/s; rad/s].
        :param parent_acceleration: Time derivative of the body twist, in the parent's frame, shape
            ``(..., 6)`` [m/s²; rad/s²].
        :param child: One attached link.
        :param parent: The other one.
        :returns: Both in the child's frame, shapes ``(..., 6)`` [m/s; rad/s], [m/s²; rad/s²].
        """
        transport = twist_transform(self.transform(q, child, parent))
        subspace = self.motion_subspace(child, parent, q)
        relative = apply_matrix(subspace, self._own_part(dq, 'dq'))
        moved = as_map_values('parent_velocity', parent_velocity, 6)
        velocity = apply_matrix(transport, moved) + relative
        moved = as_map_values('parent_acceleration', parent_acceleration, 6)
        acceleration = apply_matrix(transport, moved) + cross_motion(velocity, relative)
        if ddq is not None:
            acceleration = acceleration + apply_matrix(subspace, self._own_part(ddq, 'ddq'))
        return velocity, acceleration

    def child_position_velocity_acceleration(
        self,
        q: npt.ArrayLike,
        dq: npt.ArrayLike,
        ddq: npt.ArrayLike,
        parent_motion: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        child: LinkId,
        parent: LinkId,
    ) -> ChildMotion:
        """
        Return position, velocity and acceleration of the child together (computeChildPosVelAcc).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param dq: Velocities, shape ``(..., M)`` [rad/s or m/s].
        :param ddq: Accelerations, shape ``(..., M)`` [rad/s² or m/s²].
        :param parent_motion: Motion of the parent, as a :class:`ChildMotion` or a tuple:
            ``world_H_parent``, shape ``(..., 4, 4)`` [translation in m], twist and acceleration,
            shape ``(..., 6)``.
        :param child: One attached link.
        :param parent: The other one.
        :returns: Motion of the child; ``world_H_child = world_H_parent parent_H_child``.
        """
        position, velocity, acceleration = parent_motion
        return ChildMotion(
            chain_poses(np.asarray(position, dtype=np.float64), self.transform(q, parent, child)),
            *self.child_velocity_acceleration(q, dq, ddq, velocity, acceleration, child, parent),
        )

    def joint_torque(
        self, q: npt.ArrayLike, wrench: npt.ArrayLike, applied_by: LinkId, on: LinkId
    ) -> Array:
        """
        Return ``τ = Sᵀ f``, ``S`` with ``on`` as the child (computeJointTorque).

        :param q: Positions, shape ``(..., N)`` [rad or m].
        :param wrench: ``[f; m]`` that one link applies to the other, in the frame of the link
            ``on``, shape ``(..., 6)`` [N; N m].
        :param applied_by: The link that applies the wrench.
        :param on: The link that receives it.
        :returns: Efforts, shape ``(..., n_dofs)`` [N m or N].
        """
        subspace = self.motion_subspace(on, applied_by, q)
        return apply_matrix(np.swapaxes(subspace, -1, -2), as_map_values('wrench', wrench, 6))

    def with_limits(
        self,
        dof: int = 0,
        *,
        lower: float | None = None,
        upper: float | None = None,
        velocity: float | None = None,
        effort: float | None = None,
    ) -> Joint:
        """
        Return the joint with other limits of one degree of freedom.

        iDynTree's setPosLimits, setVelocityLimit and setEffortLimit. The switches stay unchanged.
        The limits are checked here; the limits of a description are reported in its findings
        instead.

        :param dof: Degree of freedom.
        :param lower: Smallest position [rad or m]; ``None`` keeps it, also for the other limits.
        :param upper: Largest position [rad or m].
        :param velocity: Largest speed, at least zero [rad/s or m/s].
        :param effort: Largest effort, at least zero [N m or N].
        :returns: A new joint.
        :raises JointIndexError: If ``dof`` is out of range.
        :raises JointError: If not ``lower <= upper``, a magnitude is negative or not a number, or
            the type has no position limits.
        """
        if not 0 <= dof < self.n_dofs:
            raise JointIndexError(self.name, kind='degree of freedom', index=dof, size=self.n_dofs)
        given = {'lower': lower, 'upper': upper, 'velocity': velocity, 'effort': effort}
        changed: dict[str, Any] = {kind: x for kind, x in given.items() if x is not None}
        for kind, value in changed.items():
            if kind in ('velocity', 'effort') and not value >= 0.0:
                raise JointError(self.name, f'{kind} limit {value} is not a magnitude')
            values = getattr(self.limits, kind)
            changed[kind] = (*values[:dof], float(value), *values[dof + 1 :])
        limits = replace(self.limits, **changed)
        if 'lower' in changed or 'upper' in changed:
            if self.type not in WITH_BOUNDS:
                raise JointError(self.name, 'a joint of this type has no position limits')
            least, greatest = limits.lower[dof], limits.upper[dof]
            if not least <= greatest:
                message = f'position limits [{least}, {greatest}] are not in order'
                raise JointError(self.name, message)
        return replace(self, limits=limits)

    @property
    def _linear_axes(self) -> list[int]:
        """The axes along which the joint moves; their coordinates are the first ones."""
        return [twist for twist in self.twists if twist < 3]

    @property
    def _has_quaternion(self) -> bool:
        return 3 in self.twists

    def _unit_quaternion(self, coordinates: Array) -> tuple[Array, Array]:
        """Return the unit quaternion (..., 4) and the original length (..., 1)."""
        length = np.linalg.norm(coordinates[..., -4:], axis=-1, keepdims=True)
        if np.any(length == 0.0):
            raise JointError(self.name, 'a quaternion of length zero is not an orientation')
        return coordinates[..., -4:] / length, length

    def _motion_rotation(self, coordinates: Array) -> Array:
        """Return the rotation (..., 3, 3) of ``M(q)``."""
        if self._has_quaternion:
            return rotation_from_quaternion(self._unit_quaternion(coordinates)[0])
        return rotation_about(2, coordinates[..., -1]) if 5 in self.twists else np.eye(3)

    def _child_is_link2(self, child: LinkId, parent: LinkId) -> bool:
        if {child, parent} != {self.link1, self.link2}:
            raise JointError(
                self.name,
                f'joins links {self.link1!r} and {self.link2!r}, '
                f'not child {child!r} and parent {parent!r}',
            )
        return child == self.link2

    def _own_part(self, values: npt.ArrayLike, argument: str = 'q') -> Array:
        """Return the entries (..., n) of a model's vector (..., N) that belong to this joint."""
        start, size = self.dof_offset, self.n_dofs
        if argument == 'q':
            start, size = self.position_offset, self.n_positions
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if array.shape[-1] < start + size:
            expected = f'(..., N) with N of at least {start + size}'
            raise ShapeError(argument, expected=expected, found=array.shape)
        return array[..., start : start + size]
