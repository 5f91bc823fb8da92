# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Loops of an MJCF in the frames of its URDF, and the elements of MJCF that they need.

``command`` calls :func:`read_mjcf`. MuJoCo's XML reference defines names, defaults and units. A
file may come from anywhere: only files in its folder are included, of bounded number and size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math
import os

import numpy as np
from numpy.polynomial import Polynomial

from transmission_bridge.description import RobotDescription
from transmission_bridge.description.document import (
    description_text,
    Element,
    MAX_BYTES,
    parse_number,
    parse_xml,
)
from transmission_bridge.spatial import (
    axis_basis,
    invert_pose,
    make_transform,
    rotation_about,
    rotation_from_quaternion,
)
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.formats import (
    compute_link_pose,
    FoundLoop,
    JOINT,
    LINK,
    LoopCouplingRow,
    LoopFile,
    LoopFrame,
    LoopMotor,
    require_loop_name,
)
from transmission_bridge.tools.robot import read_robot_file
from transmission_bridge.transmissions.linkage import LoopType
from transmission_bridge.types import Array

#: Largest number of included files.
MOST_FILES = 50

#: Elements that are an actuator; they share one set of defaults, by the name of the first.
ACTUATORS = (
    'general', 'motor', 'position', 'velocity', 'intvelocity', 'damper', 'cylinder', 'muscle',
    'adhesion', 'dcmotor',
)  # fmt: skip

#: The name of the defaults without a class.
_MAIN = 'main'


@dataclass(frozen=True, eq=False)
class MjcfBody:
    """
    A body.

    :param name: Its name, empty without one.
    :param parent: The body that carries it, ``None`` for the world.
    :param pose: Its pose in the world at qpos0, shape ``(4, 4)`` [translation in m].
    """

    name: str
    parent: MjcfBody | None
    pose: Array

    @property
    def line(self) -> Iterator[MjcfBody]:
        """The body, and then those that carry it, up to the world."""
        body: MjcfBody | None = self
        while body is not None:
            yield body
            body = body.parent


class Mjcf:
    """
    The elements of a model; complete after construction, which reads defaults before bodies.

    :param data: The file.
    :param file: Its name; included files are relative to its folder.
    :ivar bodies: By name; the world is ``world``.
    :ivar sites: Body, and pose in the body, by name.
    :ivar joints: Position at qpos0 by name [rad or m].
    :raises DescriptionError: If a file is not XML, or is too large.
    :raises UsageError: If a file or a number cannot be read.
    """

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self.bodies = {'world': MjcfBody('world', None, np.eye(4))}
        self.sites: dict[str, tuple[MjcfBody, Array]] = {}
        self.joints: dict[str, float] = {}
        #: Included files, and the size of all files [bytes]; they grow with each include.
        self._files: list[str] = []
        self._size = len(data)
        #: Attributes by class and tag.
        self._defaults: dict[str, dict[str, dict[str, str]]] = {_MAIN: {}}
        self._sections = [*self._expand_children(parse_xml(description_text(data, name=file)))]
        compiler: dict[str, str] = {}
        for section in self._sections:
            compiler |= section.attributes if section.tag == 'compiler' else {}
        #: Radians per unit of an angle, and the order of Euler angles.
        self._unit = math.radians(1.0) if compiler.get('angle') != 'radian' else 1.0
        self._order = compiler.get('eulerseq', 'xyz')
        for section in self._sections:
            if section.tag == 'default':
                self._read_default(section, section.get('class') or _MAIN, {})
        for section in self._sections:
            if section.tag == 'worldbody':
                self._read_body(section, self.bodies['world'], np.eye(4), '')

    def locate(self, at: Element) -> str:
        """Return file and line of an element, for errors."""
        return f"'{self.file}': <{at.tag}> in line {at.line}"

    def list_elements(self, section: str) -> Iterator[tuple[Element, Mapping[str, str]]]:
        """Yield the elements of a section, with their attributes and defaults."""
        for group in self._sections:
            if group.tag == section:
                for child in self._expand_children(group):
                    yield child, self._attributes_of(child, '')

    def numbers(
        self, attributes: Mapping[str, str], name: str, default: str, at: Element
    ) -> list[float]:
        """
        Return the numbers of an attribute.

        :param default: Their text if it is missing.
        :param at: The element, for errors.
        :raises UsageError: If one is not a number, or some are missing.
        """
        text = attributes.get(name, default)
        try:
            values = [parse_number(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) < len(default.split()):
            raise UsageError(
                f"{self.locate(at)}: {name}: expected numbers as '{default}', found '{text}'"
            )
        return values

    # -- reading --------------------------------------------------------------------------------

    def _expand_children(self, element: Element) -> Iterator[Element]:
        """Yield the children of an element, with those of included files in their place."""
        for child in element.children:
            if child.tag != 'include':
                yield child
                continue
            name, folder = child.get('file') or '', os.path.dirname(self.file)
            path = os.path.join(folder, name)
            whole, real = os.path.realpath(folder), os.path.realpath(path)
            is_inside = os.path.commonpath([whole, real]) == whole and os.path.isfile(real)
            if not is_inside or path in self._files or len(self._files) >= MOST_FILES:
                raise UsageError(
                    f'{self.locate(child)}: expected a file in the same folder, each once and at '
                    f"most {MOST_FILES}, found '{name}'"
                )
            self._files.append(path)
            data = read_robot_file(path)
            self._size += len(data)
            if self._size > MAX_BYTES:
                most = f'at most {MAX_BYTES} bytes with includes'
                raise UsageError(f"'{self.file}': expected {most}")
            yield from self._expand_children(parse_xml(description_text(data, name=path)))

    def _read_default(
        self, element: Element, name: str, above: Mapping[str, dict[str, str]]
    ) -> None:
        """Read a class of defaults, and the classes in it, which begin with its values."""
        values_by_tag = self._defaults[name] = {**above}
        children = [*self._expand_children(element)]
        for child in children:
            if child.tag != 'default':
                tag = _tag_of_defaults(child)
                values_by_tag[tag] = values_by_tag.get(tag, {}) | child.attributes
        for child in children:
            if child.tag == 'default':
                self._read_default(child, child.get('class') or '', values_by_tag)

    def _attributes_of(self, element: Element, childclass: str) -> Mapping[str, str]:
        name = element.get('class') or childclass or _MAIN
        if name not in self._defaults:
            raise UsageError(
                f"{self.locate(element)}: expected a class of <default>, found '{name}'"
            )
        return self._defaults[name].get(_tag_of_defaults(element), {}) | element.attributes

    def _read_body(self, element: Element, body: MjcfBody, pose: Array, childclass: str) -> None:
        """Read what is inside a body, or inside a ``<frame>`` with this pose in the body."""
        for child in self._expand_children(element):
            name = child.get('name') or ''
            if child.tag in ('body', 'frame'):
                inner = pose @ self._read_pose(child.attributes, child)
                below = child.get('childclass') or childclass
                if child.tag == 'frame':
                    self._read_body(child, body, inner, below)
                    continue
                carried = MjcfBody(name, body, body.pose @ inner)
                self.bodies.setdefault(name, carried)
                self._read_body(child, carried, np.eye(4), below)
            elif child.tag == 'site':
                values = self._attributes_of(child, childclass)
                self.sites[name] = body, pose @ self._read_pose(values, child)
            elif child.tag == 'joint':
                values = self._attributes_of(child, childclass)
                unit = 1.0 if values.get('type') == 'slide' else self._unit
                self.joints[name] = unit * self.numbers(values, 'ref', '0', child)[0]

    def _read_pose(self, values: Mapping[str, str], at: Element) -> Array:
        """Return the pose of position and orientation."""
        x, y, z, *_ = self.numbers(values, 'pos', '0 0 0', at)
        rotation = np.eye(3)
        if 'axisangle' in values:
            *axis, angle = self.numbers(values, 'axisangle', '1 0 0 0', at)[:4]
            basis = axis_basis(np.array(axis) / np.linalg.norm(axis))
            rotation = basis @ rotation_about(2, np.array(angle * self._unit)) @ basis.T
        elif 'euler' in values:
            angles = self.numbers(values, 'euler', '0 0 0', at)
            for letter, angle in zip(self._order, angles, strict=False):
                turn = rotation_about('xyz'.index(letter.lower()), np.array(angle * self._unit))
                rotation = rotation @ turn if letter.islower() else turn @ rotation
        elif 'xyaxes' in values:
            axes = np.array(self.numbers(values, 'xyaxes', '1 0 0 0 1 0', at)[:6])
            x_axis = axes[:3] / np.linalg.norm(axes[:3])
            y_axis = axes[3:] - (axes[3:] @ x_axis) * x_axis
            y_axis /= np.linalg.norm(y_axis)
            rotation = np.column_stack([x_axis, y_axis, np.cross(x_axis, y_axis)])
        elif 'zaxis' in values:
            end = np.array(self.numbers(values, 'zaxis', '0 0 1', at)[:3])
            # Half a turn about the middle of both axes, after half a turn about z.
            middle = end / np.linalg.norm(end) + np.eye(3)[2]
            if not middle.any():
                middle = np.eye(3)[1]
            rotation = 2.0 * np.outer(middle, middle) / (middle @ middle) - np.eye(3)
            rotation = rotation @ np.diag([-1.0, -1.0, 1.0])
        elif 'quat' in values:  # last, because the others override one of the defaults
            q = np.array(self.numbers(values, 'quat', '1 0 0 0', at)[:4])
            rotation = rotation_from_quaternion(q / np.linalg.norm(q))
        return make_transform(rotation, (x, y, z))


def _tag_of_defaults(element: Element) -> str:
    return ACTUATORS[0] if element.tag in ACTUATORS else element.tag


#: Elements that are a loop, and its type.
_LOOPS: dict[str, LoopType] = {'connect': 'point', 'weld': 'weld'}

#: Largest difference of a body's frame and its link's [m or 1]; files are rounded.
SAME_FRAME = 1e-3

Attributes = Mapping[str, str]


def read_mjcf(robot: RobotDescription, data: bytes, file: str) -> LoopFile:
    """
    Return the loops of an MJCF.

    :param data: The file.
    :param file: Its name.
    :raises DescriptionError: If it is not XML.
    :raises UsageError: If it is damaged, a name is not in the URDF, or a frame is another one.
    """
    return _Reader(robot, Mjcf(data, file)).read()


class _Reader:
    """Matches the elements of a model to a URDF, once; it keeps no results."""

    def __init__(self, robot: RobotDescription, model: Mjcf) -> None:
        self._robot, self._model = robot, model
        self._numbers, self._locate = model.numbers, model.locate
        self._links = [link.name for link in robot.links]
        self._joints = [joint.name for joint in robot.joints if joint.is_scalar]
        self._at = {name: model.joints[name] for name in self._joints if name in model.joints}

    def read(self) -> LoopFile:
        """Return everything that is found."""
        loops, rows, notes = list[FoundLoop](), list[LoopCouplingRow](), list[str]()
        for number, (element, values) in enumerate(self._model.list_elements('equality'), 1):
            name = values.get('name') or f'{element.tag}_{number}'
            if values.get('active') == 'false' or element.tag not in (*_LOOPS, 'joint'):
                notes.append(f"<{element.tag}> '{name}' is not read, or not active")
            elif element.tag == 'joint':
                rows.append(self._read_coupling(name, element, values))
            else:
                loops.append(self._read_loop(name, element, values))
        # Motors by the tendon or by the joint that they move.
        motors: dict[str, dict[str, LoopMotor]] = {'tendon': {}, 'joint': {}}
        for element, values in self._model.list_elements('actuator'):
            gear = self._numbers(values, 'gear', '1', element)[0] or 1.0
            for key, moved in motors.items():
                if element.tag in ACTUATORS and key in values:
                    name = values.get('name') or f'{values[key]}_motor'
                    moved[values[key]] = LoopMotor(name, gear)
        for number, (element, values) in enumerate(self._model.list_elements('tendon'), 1):
            name = values.get('name') or f'tendon_{number}'
            if element.tag != 'fixed' or name not in motors['tendon']:
                notes.append(f"tendon '{name}' is not fixed, or no motor moves it")
                continue
            weights = {}
            for part in element.find_all('joint'):
                joint = self._find_joint(part.attributes, 'joint', part)
                weights[joint] = self._numbers(part.attributes, 'coef', '1', part)[0]
            rows.append(LoopCouplingRow(name, weights, 0.0, motors['tendon'][name]))
        driven = {name: motor for name, motor in motors['joint'].items() if name in self._joints}
        return LoopFile(tuple(loops), tuple(rows), driven, tuple(notes))

    # -- loops ----------------------------------------------------------------------------------

    def _read_loop(self, name: str, at: Element, values: Attributes) -> FoundLoop:
        type_, place = _LOOPS[at.tag], self._locate(at)
        if 'site1' in values or 'site2' in values:
            one, other = (self._find_site(values.get(key, ''), at) for key in ('site1', 'site2'))
            return FoundLoop(name, type_, (one, other))
        names = [values.get(key, 'world') for key in ('body1', 'body2')]
        for body in names:
            require_loop_name(body, self._model.bodies, 'body of this file', place)
            require_loop_name(body, self._links, LINK, place)
        base, end = (self._model.bodies[body] for body in names)
        self._check_frames([base, end], at)
        first = between = invert_pose(base.pose) @ end.pose
        second = np.eye(4)
        if type_ == 'weld':
            relative = self._numbers(values, 'relpose', '0 0 0 0 0 0 0', at)
            quaternion = np.array(relative[3:7])
            if quaternion.any():  # else it is the pose at qpos0
                rotation = rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))
                first = make_transform(rotation, relative[:3])
        else:
            anchor = self._numbers(values, 'anchor', '0 0 0', at)[:3]
            first = make_transform(np.eye(3), anchor)
            second[:3, 3] = (invert_pose(between) @ first)[:3, 3]
        return FoundLoop(name, type_, (LoopFrame(base.name, first), LoopFrame(end.name, second)))

    def _find_site(self, name: str, at: Element) -> LoopFrame:
        require_loop_name(name, self._model.sites, 'site of this file', self._locate(at))
        if name in self._links:  # the URDF has the same frame as a link
            return LoopFrame(name)
        body, pose = self._model.sites[name]
        require_loop_name(
            body.name, self._links, LINK, f"{self._locate(at)}: body of site '{name}'"
        )
        self._check_frames([body], at)
        return LoopFrame(body.name, pose)

    def _check_frames(self, bodies: list[MjcfBody], at: Element) -> None:
        """Check that bodies, and those that carry them, have the frames of their links."""
        carriers = {carrier.name: carrier for body in bodies for carrier in body.line}
        base, *others = [body for name, body in carriers.items() if name in self._links]
        for body in others:
            stated = invert_pose(base.pose) @ body.pose

            def measure(link: str, stated: Array = stated) -> float:
                drawn = compute_link_pose(self._robot, base.name, link, self._at)
                return float(np.abs(drawn - stated).max())

            if (apart := measure(body.name)) > SAME_FRAME:
                raise UsageError(
                    f"{self._locate(at)}: expected body '{body.name}' in the frame of its link, "
                    f"as seen from '{base.name}', found {apart:.3g} (m or 1) beside it; "
                    f'of the links, {min(self._links, key=measure)!r} is nearest'
                )

    # -- weighted sums of joints ----------------------------------------------------------------

    def _find_joint(self, values: Attributes, key: str, at: Element) -> str:
        return require_loop_name(
            values.get(key), self._joints, JOINT, f'{self._locate(at)}: {key}'
        )

    def _read_coupling(self, name: str, at: Element, values: Attributes) -> LoopCouplingRow:
        """``q1 - ref1 = c0 + c1 (q2 - ref2) + c2 (q2 - ref2)^2 + ...``."""
        one = self._find_joint(values, 'joint1', at)
        coefficients = self._numbers(values, 'polycoef', '0', at)
        stated = Polynomial([*coefficients, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(coefficients) :]])
        if 'joint2' not in values:
            return LoopCouplingRow(name, {one: 1.0}, self._at.get(one, 0.0) + stated(0.0))
        other = self._find_joint(values, 'joint2', at)
        curve = self._at.get(one, 0.0) + stated(Polynomial([-self._at.get(other, 0.0), 1.0]))
        constant, slope, *rest = curve.coef.tolist()
        weights = {one: 1.0, other: -slope}
        return LoopCouplingRow(name, weights, constant, curve=curve if any(rest) else None)
