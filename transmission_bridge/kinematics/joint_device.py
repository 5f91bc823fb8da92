# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A device over joints: where its end is and how it moves, with limits in joint space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from transmission_bridge.description.specs import RobotDescription
from transmission_bridge.kinematics.compiled_path import compile_path, CompiledPath
from transmission_bridge.kinematics.jacobian import JacobianCalculator
from transmission_bridge.kinematics.limited_device import LimitedDevice
from transmission_bridge.kinematics.mimic import drives, owner
from transmission_bridge.kinematics.path_kernel import path_jacobian, path_transform
from transmission_bridge.kinematics.spatial import Array
from transmission_bridge.kinematics.state import as_configuration, Configuration, State
from transmission_bridge.kinematics.tree import KinematicTree

__all__ = ['JointDevice']


class JointDevice(LimitedDevice):
    """
    A device for a sequence of joints, in any order and anywhere (RobWork's JointDevice).

    A configuration ``q`` holds one number per joint, in the order of :attr:`joint_names` [rad or
    m]. Queries take ``q`` of shape ``(..., n)``, with any leading batch axes, or a :class:`State`.
    Frames are links, by name; ``a_t_b`` is the 4×4 transform with ``p_a = a_t_b p_b``; Jacobians
    have the linear velocity of the frame's origin in rows 0–2 and the angular velocity in rows
    3–5, both relative to the base and in the axes of the base, as RobWork has them.

    Joints of the robot that are not in the device stay at zero, except that a joint with a
    ``<mimic>`` of a device's joint follows it and adds to its column. A joint that the device
    names is independent, with or without a ``<mimic>``. The base may be anywhere: joints upstream
    of base and frame contribute nothing, joints that carry the base but not the frame contribute
    with the opposite sign.

    The device holds no configuration. RobWork's ``registerIn(StateStructure)`` is
    :meth:`register_in`, with the state object itself; nothing else changes in place, and every
    ``with_…`` returns a new device. Devices are made by :meth:`from_description`.

    :param robot: The robot.
    :param base: Link that velocities and transforms are relative to.
    :param end: Link at the end.
    :param joints: Names of the joints, in the order of the coordinates.
    :param name: The device's name.
    :raises UnknownNameError: If a link or joint does not exist.
    :raises JointError: If a joint is named twice or has not exactly one coordinate.
    :raises DescriptionError: If no joints lead from the base to the end, or the description of
        those that do has no meaning.
    """

    def __init__(
        self, robot: RobotDescription, base: str, end: str, joints: Sequence[str], name: str
    ) -> None:
        super().__init__(robot, joints, name)
        self._tree = KinematicTree(robot)
        self._base = base
        self._end = end
        self._drives = drives(robot, self._joint_names)
        self._paths: dict[tuple[str, str], CompiledPath] = {}
        self._path(base, end)

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
        :param base: Name of the base link; it need not be a root nor upstream of the end.
        :param end: Name of the end link.
        :param joints: Names of the joints in any order, also off the way from base to end.
            ``None``: the revolute, continuous and prismatic joints on the way, in order; the owner
            in place of a joint that mimics it.
        :param name: The device's name, the robot's by default.
        :returns: The device.
        :raises UnknownNameError: If a link or joint does not exist.
        :raises JointError: If a joint is named twice or has not exactly one coordinate.
        :raises DescriptionError: If no joints lead from the base to the end, or the description of
            those that do has no meaning.
        """
        if joints is None:
            way = KinematicTree(robot).way(base, end)
            moving = (step.joint.name for step in way if step.joint.is_scalar)
            joints = tuple(dict.fromkeys(owner(robot, joint) for joint in moving))
        return cls(robot, base, end, joints, robot.name if name is None else name)

    @property
    def base(self) -> str:
        """Name of the base link."""
        return self._base

    @property
    def end(self) -> str:
        """Name of the end link."""
        return self._end

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all links of the robot, the frames that can be asked for."""
        return self._tree.links

    def new_state(self) -> State:
        """Return a state that holds the device's joints at zero."""
        return State(self._joint_names)

    def register_in(self, state: State) -> None:
        """
        Add the device's joints to a state, in place; those that it holds keep their positions.

        :param state: The state; RobWork's StateStructure and State in one.
        """
        state.register(self._joint_names)

    def get_q(self, state: State) -> Array:
        """
        Return the device's configuration (getQ).

        :param state: A state in which the device is registered.
        :returns: A new array, shape ``(n,)`` [rad or m].
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        return state.get(self._joint_names)

    def set_q(self, q: npt.ArrayLike, state: State) -> None:
        """
        Write a configuration into a state, in place (setQ).

        :param q: Positions, shape ``(n,)`` [rad or m].
        :param state: A state in which the device is registered.
        :raises ShapeError: If ``q`` has another shape.
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        state.set(self._joint_names, q)

    def base_t_end(self, q: Configuration) -> Array:
        """
        Return the pose of the end in the base (baseTend).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        return self._transform(self._base, self._end, q)

    def base_t_frame(self, frame: str, q: Configuration) -> Array:
        """
        Return the pose of a frame in the base (baseTframe).

        :param frame: Name of a link.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If there is no such link, or a joint is not in the state.
        :raises DescriptionError: If no joints lead from the base to the frame.
        """
        return self._transform(self._base, frame, q)

    def world_t_base(self, q: Configuration) -> Array:
        """
        Return the pose of the base in the world, the root link of its tree (worldTbase).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 4, 4)`` [translation in m].
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        return self._transform(self._tree.root(self._base), self._base, q)

    def base_j_end(self, q: Configuration) -> Array:
        """
        Return the Jacobian of the end (baseJend).

        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6, n)``: rows 0–2 linear velocity of the end's origin, 3–5 angular
            velocity, in the base's axes [m/rad or 1; rad/rad or 0].
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If a joint is not registered in the state.
        """
        return self.base_j_frame(self._end, q)

    def base_j_frame(self, frame: str, q: Configuration) -> Array:
        """
        Return the Jacobian of a frame (baseJframe).

        :param frame: Name of a link.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6, n)``, rows as in :meth:`base_j_end`.
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If there is no such link, or a joint is not in the state.
        :raises DescriptionError: If no joints lead from the base to the frame.
        """
        path = self._path(self._base, frame)
        return path_jacobian(path, as_configuration(q, self._joint_names))

    def base_j_frames(self, frames: Sequence[str], q: Configuration) -> Array:
        """
        Return the Jacobians of several frames, one below the other (baseJframes).

        :param frames: Names of ``m`` links.
        :param q: Positions, shape ``(..., n)`` [rad or m], or a state.
        :returns: Shape ``(..., 6 m, n)``, each six rows as in :meth:`base_j_end`.
        :raises ShapeError: If ``q`` is not ``(..., n)``.
        :raises UnknownNameError: If there is no such link, or a joint is not in the state.
        :raises DescriptionError: If no joints lead from the base to a frame.
        """
        return self.jacobian_calculator(frames).get(q)

    def jacobian_calculator(self, frames: Sequence[str]) -> JacobianCalculator:
        """
        Return an object that computes :meth:`base_j_frames` of the same frames (baseJCframes).

        :param frames: Names of links.
        :returns: The calculator, to reuse; its ``get`` takes ``q`` or a state.
        :raises UnknownNameError: If there is no such link.
        :raises DescriptionError: If no joints lead from the base to a frame.
        """
        paths = [self._path(self._base, frame) for frame in frames]
        return JacobianCalculator(frames, self._joint_names, paths)

    def __repr__(self) -> str:
        """Return name, base, end and joints."""
        return (
            f'JointDevice({self._name!r}, base={self._base!r}, end={self._end!r}, '
            f'joints={self._joint_names!r})'
        )

    def _transform(self, start: str, goal: str, q: Configuration) -> Array:
        values = as_configuration(q, self._joint_names)
        return path_transform(self._path(start, goal), values)

    def _path(self, start: str, goal: str) -> CompiledPath:
        path = self._paths.get((start, goal))
        if path is None:
            path = compile_path(self._tree.way(start, goal), self._drives, self.dof)
            self._paths[start, goal] = path
        return path
