# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A device made of joints, with its configurations, frames and limits, after RobWork.

Users and the tool for loops call it. The page for users lists the methods beside the names of
RobWork, and a test checks them; shapes, frames, signs and errors are fixed. Devices are immutable
and can be shared by threads. A state belongs to the user: it has no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from transmission_bridge.description import collect_limits, RobotDescription
from transmission_bridge.errors import ShapeError, UnknownNameError
from transmission_bridge.kinematics.joint import Joint, JointError, LARGEST, LinkId
from transmission_bridge.kinematics.tree import (
    compile_kinematic_path,
    KinematicPath,
    KinematicTree,
    number_joints,
)
from transmission_bridge.transmissions import as_map_values
from transmission_bridge.types import Array


class State:
    """
    Joint positions by name, separate from devices; changed in place by one thread at a time.

    RobWork keeps devices stateless: a device is registered in a ``StateStructure``, and every
    query has a ``State`` as argument. Here both are one class: a device registers its joints in
    it, and several devices may share a state.

    :param joints: The first joints to register.
    """

    def __init__(self, joints: Iterable[Joint] = ()) -> None:
        #: Coordinates by joint, in the order of registration.
        self._positions: dict[str, Array] = {}
        self.register(joints)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the registered joints, in the order of registration."""
        return tuple(self._positions)

    def register(self, joints: Iterable[Joint]) -> None:
        """
        Add joints at rest; joints that are registered keep their positions.

        :param joints: Joints with names.
        """
        for joint in joints:
            self._positions.setdefault(joint.name, joint.rest_positions())

    def get(self, names: Sequence[str]) -> Array:
        """
        Return positions.

        :param names: Names of joints, in the order of the result.
        :returns: A new array of their coordinates one after the other, shape ``(n,)`` [rad or m].
        :raises UnknownNameError: If a joint is not registered.
        """
        for name in names:
            if name not in self._positions:
                raise UnknownNameError('joint', name, self.names)
        return np.concatenate([np.zeros(0), *(self._positions[name] for name in names)])

    def set(self, names: Sequence[str], q: npt.ArrayLike) -> None:
        """
        Change positions in place, all or none.

        :param names: Names of joints.
        :param q: Their coordinates one after the other, shape ``(n,)`` [rad or m].
        :raises UnknownNameError: If a joint is not registered.
        :raises ShapeError: If ``q`` has another shape.
        """
        expected = self.get(names).shape
        values = np.array(q, dtype=np.float64)
        if values.shape != expected:
            raise ShapeError('q', expected=f'({expected[0]},)', found=values.shape)
        ends = np.cumsum([len(self._positions[name]) for name in names])
        self._positions.update(zip(names, np.split(values, ends[:-1]), strict=False))

    def __copy__(self) -> State:
        """Return a copy with the same positions."""
        other = State()
        other._positions.update(self._positions)
        return other

    def __repr__(self) -> str:
        positions = {name: value.tolist() for name, value in self._positions.items()}
        return f'State({positions})'


@dataclass(frozen=True, eq=False)
class DeviceLimits:
    """
    Bounds per coordinate and magnitudes per degree of freedom, infinite if there is no limit.

    Shapes are ``(n,)`` for ``lower`` and ``upper`` [rad or m] and ``(m,)`` for ``velocity``,
    ``acceleration`` and ``effort`` [rad/s, rad/s², N m or m/s, m/s², N].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            values = np.array(given, dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @classmethod
    def from_joints(cls, joints: Sequence[Joint]) -> DeviceLimits:
        """Return the enabled limits of joints; joints have no acceleration limits."""
        bounds: list[tuple[float, float]] = []
        magnitudes: list[tuple[float, float, float]] = []
        for joint in joints:
            limits, infinite = joint.limits, (np.inf,) * joint.n_dofs
            least = limits.lower if limits.has_position else (-np.inf,) * joint.n_positions
            greatest = limits.upper if limits.has_position else (np.inf,) * joint.n_positions
            bounds += zip(least, greatest, strict=True)
            velocity = limits.velocity if limits.has_velocity else infinite
            effort = limits.effort if limits.has_effort else infinite
            magnitudes += zip(velocity, infinite, effort, strict=True)
        lower, upper = np.reshape(bounds, (-1, 2)).T
        lower = np.where(lower <= -LARGEST, -np.inf, lower)
        upper = np.where(upper >= LARGEST, np.inf, upper)
        return cls(lower, upper, *np.reshape(magnitudes, (-1, 3)).T)

    def require_valid(self, name: str, kinds: Collection[str]) -> None:
        """
        Raise :class:`JointError` if bounds of these kinds are crossed or magnitudes invalid.

        Limits of a description are not checked here: its findings report them.
        """
        if {'lower', 'upper'} & set(kinds) and not np.all(self.lower <= self.upper):
            raise JointError(name, f'bounds {self.lower} and {self.upper} are not in order')
        for kind in ('velocity', 'acceleration', 'effort'):
            if kind in kinds and not np.all(getattr(self, kind) >= 0.0):
                raise JointError(name, f'{kind} limits {getattr(self, kind)} are not magnitudes')


def limits_from_description(robot: RobotDescription, joints: Sequence[Joint]) -> DeviceLimits:
    """
    Return the limits of joints in the description, infinite if not given.

    A joint with one coordinate has its
    :func:`~transmission_bridge.description.specs.collect_limits`, as in the rest of the
    package: ``<limit>`` narrowed by ``min`` and ``max`` of the command interfaces in
    ``<ros2_control>``. The smaller of acceleration and deceleration limits both. Crossed bounds
    are kept. Joints with several degrees of freedom have no limits, because URDF does not assign
    them.
    """
    bounds: list[tuple[float, float]] = []
    magnitudes: list[tuple[float, float, float]] = []
    limits = collect_limits(robot, [joint.name if joint.is_scalar else '' for joint in joints])
    for joint, (lower, upper) in zip(joints, limits.transpose(2, 0, 1).tolist(), strict=True):
        bounds += [(lower[0], upper[0])] * joint.n_positions
        magnitudes += [(upper[1], min(upper[3], -lower[3]), upper[2])] * joint.n_dofs
    return DeviceLimits(*np.reshape(bounds, (-1, 2)).T, *np.reshape(magnitudes, (-1, 3)).T)


#: Argument of a device's queries: positions in the device's order, or a state that holds them.
Configuration = npt.ArrayLike | State


@dataclass(frozen=True, eq=False, repr=False)
class JointDevice:
    """
    A device for a sequence of joints, in any order and anywhere (RobWork's JointDevice).

    A configuration ``q`` holds the coordinates of the joints in the order of :attr:`joint_names`:
    one number for most joints [rad or m], no number for a fixed joint, several for joints with
    several degrees of freedom (see :class:`Joint`). Queries accept ``q`` of shape ``(..., n)``,
    with any leading batch axes, or a :class:`State`. Frames are links, by name; ``a_t_b`` is the
    4×4 transform with ``p_a = a_t_b p_b``. Jacobians have one column per degree of freedom: rows
    0–2 are the linear velocity of the frame's origin, rows 3–5 the angular velocity, both relative
    to the base and in the axes of the base, as in RobWork.

    Joints of the robot that are not in the device stay at rest. Exception: a joint with a
    ``<mimic>`` of a device's joint follows it and adds to its column. A joint that the device
    names is independent, with or without a ``<mimic>``. The base may be anywhere: joints upstream
    of base and frame contribute nothing, and joints that carry the base but not the frame
    contribute with the opposite sign.

    A device is immutable and has no configuration; every ``with_…`` returns a new device.
    RobWork's ``registerIn(StateStructure)`` is :meth:`register_in` with a :class:`State`. Use
    :meth:`from_description` or :meth:`from_joints` to make a device.

    :param name: The device's name.
    :param base: Reference link of velocities and transforms; it may be any link of the robot.
    :param end: Link at the end.
    :param joints: The joints of the description, in the order of the coordinates. Their offsets
        refer to the device, so each joint reads its own part of ``q``.
    :param limits: Its limits, as returned by the properties below.
    :raises UnknownNameError: If a link or joint does not exist; in queries, if a link does not
        exist, or a joint is not registered in the state.
    :raises JointError: If a joint is named twice; in ``with_…``, if bounds are crossed, a
        magnitude is negative, or a limit is not a number.
    :raises DescriptionError: If no joints lead from the base to the end, or to the frame of a
        query, or the description of these joints is invalid.
    :raises ShapeError: If ``q`` or limits have another shape.
    """

    name: str
    base: LinkId
    end: LinkId
    joints: tuple[Joint, ...]
    limits: DeviceLimits
    _tree: KinematicTree
    _properties: dict[str, Any] = field(default_factory=dict)
    #: A cache by start and goal. The devices of ``with_…`` share it, so they must have the same
    #: tree and joints.
    _paths: dict[tuple[LinkId, LinkId], KinematicPath] = field(default_factory=dict)

    @classmethod
    def _from_tree(
        cls,
        tree: KinematicTree,
        base: LinkId,
        end: LinkId,
        names: Sequence[str] | None,
        name: str,
    ) -> JointDevice:
        if names is None:
            joints_between = (crossing.joint for crossing in tree.find_route(base, end))
            moving = (joint.name for joint in joints_between if joint.is_scalar)
            names = tuple(dict.fromkeys(map(tree.find_leader, moving)))
        _require_unique(names, 'is named twice')
        joints = number_joints(map(tree.find_joint, names))
        device = cls(name, base, end, joints, DeviceLimits.from_joints(joints), tree)
        device._get_path(base, end)
        return device

    @classmethod
    def from_description(
        cls,
        robot: RobotDescription,
        *,
        base: str,
        end: str,
        joints: Sequence[str] | None = None,
        name: str | None = None,
    ) -> JointDevice:
        """
        Return the device between two links of a robot.

        :param robot: The robot.
        :param base: Name of the base link.
        :param end: Name of the end link.
        :param joints: Names of the joints in any order; they may be outside the path from base to
            end, fixed, or have several degrees of freedom. ``None``: the revolute, continuous and
            prismatic joints between base and end, in order; a joint with ``<mimic>`` is replaced
            by the joint that it follows.
        :param name: The device's name, the robot's by default.
        :returns: The device.
        """
        tree = KinematicTree.from_description(robot)
        device = cls._from_tree(tree, base, end, joints, robot.name if name is None else name)
        return replace(device, limits=limits_from_description(robot, device.joints))

    @classmethod
    def from_joints(
        cls,
        model: Sequence[Joint],
        *,
        base: LinkId,
        end: LinkId,
        joints: Sequence[str] | None = None,
        name: str = '',
    ) -> JointDevice:
        """
        Return the device between two links that joints connect, as RobWork's constructor does.

        :param model: Every joint between the links, with names; ``link1`` is the parent. Their
            offsets and indices do not matter: :attr:`joints` have the offsets of the device.
        :param base: The base link.
        :param end: The end link.
        :param joints: Names of the joints, as in :meth:`from_description`.
        :param name: The device's name.
        :returns: The device, with the enabled limits of its joints.
        :raises JointError: If a joint of the model has no name, or two have the same name.
        """
        names = [joint.name for joint in model]
        if '' in names:
            raise JointError('', f'joint {names.index("")} of the model has no name')
        _require_unique(names, 'is the name of two joints of the model')
        return cls._from_tree(KinematicTree(model), base, end, joints, name)

    @property
    def frames(self) -> tuple[LinkId, ...]:
        """Names of all links of the robot."""
        return self._tree.links

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the coordinates."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def n_positions(self) -> int:
        """Number of coordinates of a configuration."""
        return sum(joint.n_positions for joint in self.joints)

    @cached_property
    def dof(self) -> int:
        """Number of degrees of freedom, the columns of a Jacobian."""
        return sum(joint.n_dofs for joint in self.joints)

    @property
    def properties(self) -> Mapping[str, Any]:
        """Values that the user attached to the device, by name; read-only (getPropertyMap)."""
        return MappingProxyType(self._properties)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """
        Smallest and largest positions [rad or m], ``(n_positions,)``, infinite if unbounded.

        For a device from a description, all limits are the ones that the bridge applies:
        ``<limit>``, narrowed by ``min`` and ``max`` of the command interfaces in
        ``<ros2_control>``; no limits if a block disables them. :attr:`joints` have ``<limit>``
        alone.
        """
        return self.limits.lower, self.limits.upper

    @property
    def velocity_limits(self) -> Array:
        """Largest speeds [rad/s or m/s], ``(dof,)``, infinite if unlimited."""
        return self.limits.velocity

    @property
    def acceleration_limits(self) -> Array:
        """
        Largest accelerations [rad/s² or m/s²], ``(dof,)``, infinite if unlimited.

        The limit is the smaller of ``|min|`` and ``|max|`` of the ``acceleration`` command
        interface.
        """
        return self.limits.acceleration

    @property
    def effort_limits(self) -> Array:
        """Largest efforts [N m or N], ``(dof,)``, infinite if unlimited."""
        return self.limits.effort

    def with_name(self, name: str) -> JointDevice:
        """
        Return the device with another name (setName).

        :param name: The name.
        :returns: A new device.
        """
        return replace(self, name=name)

    def with_properties(self, **properties: Any) -> JointDevice:
        """
        Return the device with additional properties; the package itself does not use them.

        :param properties: Values by name; a name that exists is replaced.
        :returns: A new device.
        """
        return replace(self, _properties={**self._properties, **properties})

    def with_bounds(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> JointDevice:
        """
        Return the device with other position bounds (setBounds).

        :param lower: Smallest positions [rad or m], shape ``(n_positions,)``.
        :param upper: Largest positions [rad or m], shape ``(n_positions,)``.
        :returns: A new device; its joints stay as described.
        """
        return self._replace_limits(lower=lower, upper=upper)

    def with_velocity_limits(self, limits: npt.ArrayLike) -> JointDevice:
        """
        Return the device with other velocity limits (setVelocityLimits).

        :param limits: Largest speeds [rad/s or m/s], shape ``(dof,)``.
        :returns: A new device.
        """
        return self._replace_limits(velocity=limits)

    def with_acceleration_limits(self, limits: npt.ArrayLike) -> JointDevice:
        """
        Return the device with other acceleration limits (setAccelerationLimits).

        :param limits: Largest accelerations [rad/s² or m/s²], shape ``(dof,)``.
        :returns: A new device.
        """
        return self._replace_limits(acceleration=limits)

    def with_effort_limits(self, limits: npt.ArrayLike) -> JointDevice:
        """
        Return the device with other effort limits.

        :param limits: Largest efforts [N m or N], shape ``(dof,)``.
        :returns: A new device.
        """
        return self._replace_limits(effort=limits)

    def new_state(self) -> State:
        """Return a state with the device's joints at rest."""
        return State(self.joints)

    def register_in(self, state: State) -> None:
        """
        Add the device's joints to a state, in place; registered joints keep their positions.

        :param state: The state, which replaces both StateStructure and State of RobWork.
        """
        state.register(self.joints)

    def get_q(self, state: State) -> Array:
        """
        Return the device's configuration (getQ).

        :param state: A state in which the device is registered.
        :returns: A new array, shape ``(n,)`` [rad or m].
        """
        return state.get(self.joint_names)

    def set_q(self, q: npt.ArrayLike, state: State) -> None:
        """
        Write a configuration into a state, in place (setQ).

        :param q: Positions, shape ``(n,)`` [rad or m].
        :param state: A state in which the device is registered.
        """
        state.set(self.joint_names, q)

    def base_t_end(self, q: Configuration) -> Array:
        """
        Return the pose of the end in the base (baseTend).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        return self.base_t_frame(self.end, q)

    def base_t_frame(self, frame: LinkId, q: Configuration) -> Array:
        """
        Return the pose of a frame in the base (baseTframe).

        :param frame: Name of a link.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        return self._get_path(self.base, frame).compute_transform(self._read_configuration(q))

    def world_t_base(self, q: Configuration) -> Array:
        """
        Return the pose of the base in the world, the root link of its tree (worldTbase).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        """
        path = self._get_path(self._tree.find_root(self.base), self.base)
        return path.compute_transform(self._read_configuration(q))

    def base_j_end(self, q: Configuration) -> Array:
        """
        Return the Jacobian of the end (baseJend).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6, dof)``: rows 0–2 linear velocity of the end's origin, 3–5
            angular velocity, in the base's axes [m/rad or 1; rad/rad or 0].
        """
        return self.base_j_frame(self.end, q)

    def base_j_frame(self, frame: LinkId, q: Configuration) -> Array:
        """
        Return the Jacobian of a frame (baseJframe).

        :param frame: Name of a link.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6, dof)``, rows as in :meth:`base_j_end`.
        """
        return self._get_path(self.base, frame).jacobian(self._read_configuration(q))

    def base_j_frames(self, frames: Sequence[LinkId], q: Configuration) -> Array:
        """
        Return the Jacobians of several frames, one below the other (baseJframes).

        :param frames: Names of ``m`` links.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6 m, dof)``, each six rows as in :meth:`base_j_end`.
        """
        values = self._read_configuration(q)
        none = np.zeros((*values.shape[:-1], 0, self.dof))
        return np.concatenate([none, *(self.base_j_frame(frame, values) for frame in frames)], -2)

    def jacobian_calculator(self, frames: Sequence[LinkId]) -> Callable[[Configuration], Array]:
        """
        Return a reusable function for :meth:`base_j_frames` of these frames (baseJCframes).

        :param frames: Names of links.
        :returns: A function of ``q`` or of a state.
        """
        for frame in frames:
            self._get_path(self.base, frame)
        return partial(self.base_j_frames, tuple(frames))

    def __repr__(self) -> str:
        return (
            f'JointDevice({self.name!r}, base={self.base!r}, end={self.end!r}, '
            f'joints={self.joint_names!r})'
        )

    def _read_configuration(self, q: Configuration) -> Array:
        if isinstance(q, State):
            return self.get_q(q)
        return as_map_values('q', q, self.n_positions)

    def _get_path(self, start: LinkId, goal: LinkId) -> KinematicPath:
        """Return the path between two links, compiled once."""
        if (start, goal) not in self._paths:
            self._paths[start, goal] = compile_kinematic_path(self._tree, start, goal, self.joints)
        return self._paths[start, goal]

    def _replace_limits(self, **values: npt.ArrayLike) -> JointDevice:
        for name, value in values.items():
            expected = getattr(self.limits, name).shape
            if np.shape(value) != expected:
                raise ShapeError(name, expected=f'({expected[0]},)', found=np.shape(value))
        changed: dict[str, Any] = values
        limits = replace(self.limits, **changed)
        limits.require_valid(self.name, values.keys())
        return replace(self, limits=limits)


def _require_unique(names: Sequence[str], message: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise JointError(name, message)
