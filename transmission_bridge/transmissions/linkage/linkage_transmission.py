# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A closed mechanism made of the joints, links and frames of the URDF.

URDFs select it by its entry point and spell ``<loop>``, ``<start>``, ``tolerance`` and ``joint``;
lengths of rods are tunable as ``loops.<number>.length``. These are fixed. ``check`` shows the
facts and doubts, with free sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
import math
from typing import cast, ClassVar

import numpy as np

from transmission_bridge.description import ParameterSpec, RobotDescription
from transmission_bridge.errors import counted
from transmission_bridge.interfaces import ACTUATOR_TO_JOINT, Direction
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.linkage.component import (
    build_linkage_components,
    LinkageComponent,
    LinkageSpec,
)
from transmission_bridge.transmissions.linkage.tree import (
    LinkageTree,
    list_linkage_joints,
    Loop,
    LOOP_TYPES,
    LoopType,
)
from transmission_bridge.transmissions.mechanism.part import MechanismPart
from transmission_bridge.transmissions.mechanism_transmission import MechanismTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.tunable import as_floats

#: Largest residual of redundant rows [m or rad]: default and range.
TOLERANCE, LEAST_TOLERANCE, LARGEST_TOLERANCE = 1e-9, 1e-12, 1e-3


class LinkageTransmission(MechanismTransmission):
    """
    A closed mechanism: joints of the URDF, closed by loops between its links.

    Motors turn the driven joints ``d``, ``a_i = n_i (d_i - off_i)`` with ``n_i`` the reduction and
    ``off_i`` the offset of actuator ``i``. The commanded joints ``q`` are joints of the loops;
    they may include driven joints. With ``u`` all joints that are not driven, the loops are
    ``g(d, u) = 0``, and everything else is derived from them::

        u' = U d'           U = -(dg/du)^-1 dg/dd
        q' = G d'           G: the rows of U, or of the unit matrix
        tau_q = G^-T tau_d  tau_d = G^T tau_q, by conservation of power
        u'' = U d'' + b     b = -(dg/du)^-1 (the second derivative of g along the motion)

    The inverse map solves the same loops for ``d``. If equations are redundant, an independent
    subset is solved and the residual of the others is checked. If joints can move while all driven
    joints stand still, one joint per such freedom is held at the start. A link between two balls
    is solved as a distance, and the angles of the balls afterwards.

    A sample without a result is NaN and counted. ``domain``: it is outside the range of the driven
    joints or beyond a dead centre. ``singular``: the gain of a rate or an effort exceeds
    ``max_gain`` times its median. ``branch``: the solution is on another assembly.
    ``no_convergence``: no certain solution was found. A solution is certain if the last Newton
    step is below 3e-12, the residual of the solved equations is below 1e-10, and the residual of
    the redundant equations is below the tolerance.

    :param robot: The description of joints and links.
    :param spec: Loops, driven and commanded joints, start and tolerance.
    :param actuator_reduction: ``n``, ones by default.
    :param actuator_offset: ``off``, zeros by default [rad or m].
    :param lengths: Lengths of rods in place of the described lengths, by index of the loop [m].
    :param passive_joints: Which passive joints are outputs.
    :raises TransmissionError: If the linkage does not close or does not determine its joints.
    """

    api_version: ClassVar[int] = 1

    def __init__(
        self,
        robot: RobotDescription,
        spec: LinkageSpec,
        *,
        actuator_reduction: Sequence[float] | None = None,
        actuator_offset: Sequence[float] | None = None,
        lengths: Mapping[int, float] | None = None,
        passive_joints: str = 'none',
    ) -> None:
        self._robot, self._spec, self._passive = robot, spec, passive_joints
        self.members = len(spec.driven), len(spec.commanded)
        self._set_gears(actuator_reduction, None, None)
        given = lengths or {}
        #: The independent mechanisms.
        self.components = tuple(
            each.with_lengths([given.get(k, length) for k, length in _list_lengths(each).items()])
            for each in build_linkage_components(robot.joints, robot.links, spec)
        )
        self.passive_joints = tuple(
            name
            for component in self.components
            for name in component.structure.names
            if name not in spec.commanded and passive_joints != 'none'
        )
        slides = {joint.name for joint in robot.joints if joint.type == 'prismatic'}
        self.actuators_turn = slides.isdisjoint(spec.driven)
        self._offsets = as_floats(actuator_offset or (0.0,) * len(spec.driven))
        ends = np.empty((2, len(spec.driven)))
        for component, driven, _ in self.iterate_members():
            ends[:, driven] = component.lower, component.upper
        self.domain = Domain.between('actuator', (ends - self._offsets) * self.actuator_reduction)

    @classmethod
    def from_spec(cls, reader: SpecReader) -> LinkageTransmission:
        """Build from the loops, the start, the actuators and the joints of a description."""
        spec, robot = reader.spec, reader.robot
        if robot is None:
            raise reader.error('a linkage needs the joints and links of its URDF')
        for joint in spec.joints:
            if 'offset' in joint.given and joint.offset:
                raise reader.error(
                    f"joint '{joint.name}' has an offset, which would open the loops",
                    parameter=f'joints.{joint.name}.offset',
                    expected="an offset of its actuator, or <origin> of the URDF's joint",
                    found=f'{joint.offset:g}',
                )
        driven = tuple(
            reader.text('joint', default=actuator.name, actuator=index)
            for index, actuator in enumerate(spec.actuators)
        )
        loops = tuple(_read_loop(reader, element) for element in reader.elements('loop'))
        start = tuple(_read_start(reader, element) for element in reader.elements('start'))
        text = reader.text('tolerance', default=str(TOLERANCE))
        tolerance, *more = reader.parse_numbers('tolerance', text) or (0.0,)
        is_valid = not more and LEAST_TOLERANCE <= tolerance <= LARGEST_TOLERANCE
        expected = f'a number in [{LEAST_TOLERANCE:g}, {LARGEST_TOLERANCE:g}]'
        _require(reader, is_valid, 'tolerance', 'tolerance is invalid', expected, repr(text))
        linkage = LinkageSpec(loops, driven, tuple(j.name for j in spec.joints), start, tolerance)
        # If a frame is not a link, every joint above the other frame would become part of the
        # loop.
        tree = LinkageTree(robot.joints, robot.links)
        for loop in linkage.loops:
            tree.check_frames(loop)
        moved = list_linkage_joints(robot, spec)
        for other in robot.transmissions:
            theirs = list_linkage_joints(robot, other).union(joint.name for joint in other.joints)
            shared = sorted(moved & theirs)
            if shared and other.name != spec.name:
                raise reader.error(
                    f"joint '{shared[0]}' is in a loop and is moved by transmission "
                    f"'{other.name}'",
                    expected=f"its actuator in this linkage, instead of in '{other.name}'",
                    found=', '.join(shared),
                )
        components = build_linkage_components(robot.joints, robot.links, linkage)
        lengths = {
            loop: reader.declare(
                ('loops', str(loop + 1), 'length'),
                length,
                'Distance that the two frames keep [m].',
            )
            for loop, length in sorted(
                pair for component in components for pair in _list_lengths(component).items()
            )
            if linkage.loops[loop].type == 'rod'
        }
        return cls(
            robot,
            linkage,
            actuator_reduction=reader.actuator_reductions(),
            actuator_offset=reader.actuator_offsets(
                'Position of the driven joint at actuator zero [rad or m].'
            ),
            lengths=lengths,
            passive_joints=reader.passive_joints,
        )

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """The joint that each actuator turns, ``d`` in the equations."""
        return self._spec.driven

    def facts(self) -> tuple[str, ...]:
        """Return facts about each mechanism of the linkage in sentences."""
        facts = []
        for component in self.components:
            structure, driven = component.structure, component.structure.driven
            names, unknown, start = structure.names, structure.unknown, structure.start.tolist()
            groups = {
                'driven': driven,
                'commanded': structure.commanded,
                'passive': [k for k in unknown if k not in structure.commanded],
                'determined': [k for k in unknown if k not in structure.idle],
                'idle': structure.idle,
                'held': structure.held,
            }
            lists = [
                f'{group} {", ".join(names[k] for k in joints) or "none"}'
                for group, joints in groups.items()
            ]
            ends = zip(driven, component.lower.tolist(), component.upper.tolist(), strict=True)
            ranges = ', '.join(f'{names[k]} {low:.4g} to {high:.4g}' for k, low, high in ends)
            facts += [
                '; '.join(lists[:3]),
                f'{counted(len(unknown), "unknown")}, '
                f'{counted(len(structure.closures.owners), "equation")} of rank {structure.rank}; '
                f'mobility {len(driven) + len(structure.held)}, of which '
                f'{len(structure.held)} idle',
                '; '.join(lists[3:]),
                f'start {", ".join(f"{n} {v:.4g}" for n, v in zip(names, start, strict=True))}; '
                f'closed to {structure.gap:.1e}',
                f'range {ranges}; {len(component.assembly.positions)} assembled positions in the '
                'table',
            ]
        return tuple(facts)

    def doubts(self) -> tuple[str, ...]:
        """Return limits that exclude the start, and undetermined joints of the hardware."""
        declared = {
            component.name
            for block in self._robot.blocks
            for component in block.components
            if component.kind == 'joint' and component.command_interfaces
        }
        doubts = []
        for structure in (component.structure for component in self.components):
            names, start = structure.names, structure.start
            outside = ', '.join(
                f'{names[k]} is at {start[k]:.4g}, outside {low:.4g} to {high:.4g}'
                for k in structure.list_outside(start)
                for low, high in [structure.limits[k]]
            )
            if outside:
                doubts.append(
                    f'limits exclude the start, the nearest assembly found: {outside}; check '
                    'for a wrong length, a limit that is too narrow, or a missing <start>'
                )
            elif rival := structure.search_rival():
                (joint, at), *others = rival
                more = ', '.join(f"'{names[k]}' ({value:.4g})" for k, value in others)
                doubts.append(
                    f"another assembly within the limits has '{names[joint]}' at {at:.4g} instead "
                    f'of {start[joint]:.4g}; add <start joint="{names[joint]}" position="..."/> '
                    f'to select one of them{", or a <start> of " + more if more else ""}'
                )
            if loose := [names[k] for k in structure.idle if names[k] in declared]:
                doubts.append(
                    f'the actuators do not determine joints that the hardware commands: '
                    f'{", ".join(loose)}; check for a missing actuator or loop'
                )
        return tuple(doubts)

    def iterate_members(self) -> Iterator[tuple[LinkageComponent, list[int], list[int]]]:
        """
        Yield components with the indices of their actuators and of their commanded joints.

        Both have the order of the component's driven and commanded joints.
        """
        for component in self.components:
            spec, structure = self._spec, component.structure
            driven = [spec.driven.index(structure.names[k]) for k in structure.driven]
            commanded = [spec.commanded.index(structure.names[k]) for k in structure.commanded]
            yield component, driven, commanded

    def _build_parts(self, direction: Direction) -> Sequence[MechanismPart]:
        parts = []
        for component, driven, commanded in self.iterate_members():
            inputs, outputs, published = commanded, driven, []
            if direction == ACTUATOR_TO_JOINT:
                names = component.structure.names
                passive = [k for k, each in enumerate(self.passive_joints) if each in names]
                published = [names.index(self.passive_joints[k]) for k in passive]
                inputs, outputs = driven, [*commanded, *(self.n_joints + k for k in passive)]
            step = component.compile_direction(
                direction == ACTUATOR_TO_JOINT, self._passive == 'all', tuple(published)
            )
            sides = (
                [self.actuator_reduction[k] for k in driven],
                [self._offsets[k] for k in driven],
                np.ones(len(driven)),
                np.zeros(len(driven)),
            )
            p, members = component.structure.lengths, (inputs, outputs)
            parts.append(
                MechanismPart.build(step, component.assembly, p, sides, self.max_gain, members)
            )
        return parts


def _list_lengths(component: LinkageComponent) -> dict[int, float]:
    """Return the length of each loop of a mechanism, by index of the loop."""
    return dict(zip(component.loops, component.structure.lengths.tolist(), strict=True))


# -- the description -----------------------------------------------------------------------------


def _read_loop(reader: SpecReader, element: ParameterSpec) -> Loop:
    given = dict(element.attributes)
    where, require_that = f'<loop> (line {element.line})', partial(_require, reader)
    kind = given.pop('type', '')
    types = ', '.join(LOOP_TYPES)
    require_that(kind in LOOP_TYPES, 'loop', f'{where} has an unknown type', types, repr(kind))
    one, other = (given.pop(name, '') for name in ('frame1', 'frame2'))
    for name, frame in (('frame1', one), ('frame2', other)):
        require_that(frame != '', 'loop', f'{where} has no {name}', 'a link', 'none')
    require_that(one != other, 'loop', f"{where} joins link '{one}' to itself", 'two links', 'one')
    axis, length = (1.0, 0.0, 0.0), None
    if kind == 'hinge':
        text = given.pop('axis', '1 0 0')
        numbers = reader.parse_numbers(f'axis of {where}', text)
        size = math.hypot(*numbers)
        is_axis = len(numbers) == 3 and 1e-9 < size < math.inf
        expected = 'three numbers, not all zero'
        require_that(is_axis, 'loop', f'the axis of {where} is invalid', expected, repr(text))
        axis = (numbers[0] / size, numbers[1] / size, numbers[2] / size)
    if kind == 'rod' and 'length' in given:
        text = given.pop('length')
        length, *more = reader.parse_numbers(f'length of {where}', text) or (0.0,)
        expected = "a positive number, or type='point'"
        is_length = length > 1e-6 and not more
        require_that(is_length, 'loop', f'the length of {where} is invalid', expected, repr(text))
    _refuse_unknown_content(reader, where, given, element)
    return Loop(cast('LoopType', kind), one, other, axis, length, element)


def _read_start(reader: SpecReader, element: ParameterSpec) -> tuple[str, float]:
    given = dict(element.attributes)
    where = f'<start> (line {element.line})'
    name, text = given.pop('joint', ''), given.pop('position', '')
    values = reader.parse_numbers(f'position of {where}', text)
    is_complete, found = name != '' and len(values) == 1, f'{name!r} and {text!r}'
    expected = 'attributes joint and position'
    _require(reader, is_complete, 'start', f'{where} is incomplete', expected, found)
    _refuse_unknown_content(reader, where, given, element)
    return name, values[0]


def _refuse_unknown_content(
    reader: SpecReader, where: str, given: dict[str, str], element: ParameterSpec
) -> None:
    rest = [*given, *(child.name for child in element.children)]
    expected, found = 'no ' + (rest[0] if rest else 'text'), ', '.join(rest) or element.value
    _require(reader, not found, element.name, f'{where} has unknown content', expected, found)


def _require(
    reader: SpecReader, condition: bool, parameter: str, message: str, expected: str, found: str
) -> None:
    if not condition:
        raise reader.error(message, parameter=parameter, expected=expected, found=found)
