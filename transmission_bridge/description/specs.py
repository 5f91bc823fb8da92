# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The robot as its description tells it: frozen values, no XML, no behaviour.

Numbers are SI (REP 103): radians and metres, seconds, newtons and newton metres. A number that the
text leaves open is ``None`` here; defaults that the formats define (axis ``1 0 0``, reduction
``1.0``) are filled in. ``line`` is counted from 1, ``path`` is an element path such as
``/robot/joint[3]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from transmission_bridge.description.control_specs import (
    RejectedTransmission,
    Ros2ControlSpec,
    TransmissionSpec,
)
from transmission_bridge.errors import sentence, UnknownNameError

__all__ = [
    'CalibrationSpec',
    'DynamicsSpec',
    'Finding',
    'JointLimits',
    'JointSpec',
    'LinkSpec',
    'MimicSpec',
    'Pose',
    'RobotDescription',
    'SafetySpec',
    'Severity',
]

Severity = Literal['error', 'warning', 'info']
JointType = Literal[
    'fixed', 'revolute', 'continuous', 'prismatic', 'floating', 'planar', 'spherical'
]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that was odd in a description or in what was built from it.

    :param severity: ``error`` costs the element, or the value, it stands at; ``warning`` and
        ``info`` cost nothing.
    :param message: What is odd, in one sentence without the place.
    :param line: Line in the text, or ``None``.
    :param path: Element path.
    :param expected: What would have been right.
    :param found: What stood there.
    :param subject: Name of the transmission (or joint) concerned, empty for the document.
    :param fatal_if_strict: Whether strict mode refuses the description for it: every error, and
        warnings about data that nothing uses or that ros2_control or URDF parsers refuse.
    """

    severity: Severity
    message: str
    line: int | None = None
    path: str = ''
    expected: str = ''
    found: str = ''
    subject: str = ''
    fatal_if_strict: bool = False

    def __str__(self) -> str:
        """Return ``severity: line 12, /robot/x: message (expected a, found b)``."""
        text = sentence(
            self.message,
            line=self.line,
            path=self.path,
            expected=self.expected,
            found=self.found,
        )
        return f'{self.severity}: {text}'

    @property
    def text(self) -> str:
        """The message with what was expected and found, without the place."""
        return sentence(self.message, expected=self.expected, found=self.found)


@dataclass(frozen=True, slots=True)
class Pose:
    """
    Position and roll-pitch-yaw of a frame in its parent, as ``<origin>`` gives them.

    The rotation is ``Rz(yaw) Ry(pitch) Rx(roll)`` (URDF: fixed axes x, y, z in this order).
    """

    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class JointLimits:
    """``<limit>``: position bounds [rad or m], velocity and effort magnitudes; ``None``: open."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class SafetySpec:
    """``<safety_controller>``: soft bounds and the two gains."""

    soft_lower_limit: float = 0.0
    soft_upper_limit: float = 0.0
    k_position: float = 0.0
    k_velocity: float = 0.0


@dataclass(frozen=True, slots=True)
class MimicSpec:
    """``<mimic>``: ``q = multiplier * q_joint + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class DynamicsSpec:
    """``<dynamics>``: viscous damping [N m s/rad or N s/m] and static friction [N m or N]."""

    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True, slots=True)
class CalibrationSpec:
    """``<calibration>``: reference edges, ``None`` where not given."""

    rising: float | None = None
    falling: float | None = None


@dataclass(frozen=True, slots=True)
class JointSpec:
    """
    One ``<joint>`` of the robot.

    :param type: URDF joint type.
    :param origin: Joint frame in the parent link's frame at zero position.
    :param axis: Joint axis in the joint frame, unit length (``1 0 0`` where not given).
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = Pose()
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    limits: JointLimits | None = None
    safety: SafetySpec | None = None
    mimic: MimicSpec | None = None
    dynamics: DynamicsSpec | None = None
    calibration: CalibrationSpec | None = None
    line: int | None = None
    path: str = ''

    @property
    def is_scalar(self) -> bool:
        """Whether one number is its position: revolute, continuous or prismatic."""
        return self.type in ('revolute', 'continuous', 'prismatic')


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """One ``<link>``; inertial data are kept for tools, geometry is not read."""

    name: str
    mass: float | None = None
    inertial_origin: Pose = Pose()
    inertia: tuple[float, float, float, float, float, float] | None = None
    line: int | None = None
    path: str = ''


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """
    A whole robot: kinematic tree, ros2_control blocks, transmissions, and what was odd.

    :param name: The robot's name.
    :param links: In document order.
    :param joints: In document order. Empty for a fragment that holds transmissions only.
    :param blocks: ``<ros2_control>`` blocks in document order.
    :param transmissions: Transmissions without an error finding, ros2_control blocks before
        top-level (ROS 1) ones, each in document order.
    :param rejected: Transmissions that an error finding cost.
    :param findings: In document order.
    :param is_unexpanded: Instructions for xacro are left and there is no transmission: any joint
        may have one.
    """

    name: str
    links: tuple[LinkSpec, ...] = ()
    joints: tuple[JointSpec, ...] = ()
    blocks: tuple[Ros2ControlSpec, ...] = ()
    transmissions: tuple[TransmissionSpec, ...] = ()
    rejected: tuple[RejectedTransmission, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    is_unexpanded: bool = False

    def joint(self, name: str) -> JointSpec:
        """
        Return the joint of this name.

        :raises UnknownNameError: If there is none.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise UnknownNameError('joint', name, tuple(joint.name for joint in self.joints))

    def transmission(self, name: str) -> TransmissionSpec:
        """
        Return the usable transmission of this name.

        :raises UnknownNameError: If there is none.
        """
        for transmission in self.transmissions:
            if transmission.name == name:
                return transmission
        known = tuple(transmission.name for transmission in self.transmissions)
        raise UnknownNameError('transmission', name, known)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that cost something."""
        return tuple(finding for finding in self.findings if finding.severity == 'error')
