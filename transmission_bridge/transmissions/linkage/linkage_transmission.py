# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A closed mechanism whose joints, links and frames are those of the URDF."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import math
from typing import Any, cast, ClassVar

import numpy as np
import numpy.typing as npt

from transmission_bridge.description.specs import (
    ParameterSpec,
    RobotDescription,
    TransmissionSpec,
)
from transmission_bridge.errors import ShapeError, TransmissionError
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    Quantity,
    quantity_of,
)
from transmission_bridge.transmissions.linear import ratios
from transmission_bridge.transmissions.linkage.component import (
    Component,
    components_of,
    LinkageSpec,
)
from transmission_bridge.transmissions.linkage.live import LivePart, PartSample, PartStream
from transmission_bridge.transmissions.linkage.tree import (
    linkage_joints,
    Loop,
    LOOP_TYPES,
    Tree,
)
from transmission_bridge.transmissions.mechanism import POSITIONS
from transmission_bridge.transmissions.position_dependent import MAX_GAIN, read_max_gain
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import as_values, Transmission
from transmission_bridge.types import Array

__all__ = ['LinkageTransmission']

#: Largest residual of redundant rows [m or rad], and what it may be.
TOLERANCE, LEAST_TOLERANCE, LARGEST_TOLERANCE = 1e-9, 1e-12, 1e-3


class LinkageTransmission(Transmission):
    """
    A closed mechanism: joints of the URDF, closed by loops between its links.

    Motors turn the driven joints ``d``, ``a_i = n_i (d_i - off_i)`` with ``n_i`` the reduction and
    ``off_i`` the offset of actuator ``i``. The commanded joints ``q`` are joints of the loops, a
    driven one may be among them. With ``u`` all joints that are not driven, the loops are
    ``g(d, u) = 0``, from which everything follows::

        u' = U d'           U = -(dg/du)^-1 dg/dd
        q' = G d'           G: the rows of U, or of the unit matrix
        tau_q = G^-T tau_d  tau_d = G^T tau_q, by conservation of power
        u'' = U d'' + b     b = -(dg/du)^-1 (the second derivative of g along the motion)

    The way back solves the same loops for ``d``. Of redundant equations as many as are independent
    are solved and the rest is watched; of joints that can move while all driven ones are still,
    one for each such freedom is held at the start. A link between two balls is solved as a
    distance, and the angles of the balls after it.

    A sample that cannot be answered is NaN and counted: ``domain`` outside the range of the driven
    joints or beyond a dead centre, ``singular`` where a rate or an effort would be multiplied by
    more than ``max_gain`` times its median, ``branch`` on another assembly, ``no_convergence``
    where nothing was found for certain. A position is found for certain if the last Newton step is
    below 3e-13, the residual of the solved equations below 1e-10 and that of the redundant ones
    below the tolerance.

    :param robot: Where joints and links are described.
    :param spec: Loops, driven and commanded joints, start and tolerance.
    :param actuator_reduction: ``n``, ones by default.
    :param actuator_offset: ``off``, zeros by default [rad or m].
    :param lengths: Of all loops, in place of those of the description [m].
    :param max_gain: By how many times its median a rate or an effort may be multiplied.
    :param passive_joints: Which joints are mapped to that nobody commands.
    :raises TransmissionError: If the linkage does not close or does not determine its joints.
    """

    api_version: ClassVar[int] = 2

    def __init__(
        self,
        robot: RobotDescription,
        spec: LinkageSpec,
        *,
        actuator_reduction: Sequence[float] | None = None,
        actuator_offset: Sequence[float] | None = None,
        lengths: Sequence[float | None] | None = None,
        max_gain: float = MAX_GAIN,
        passive_joints: str = 'none',
    ) -> None:
        n = len(spec.driven)
        self._robot, self._spec = robot, spec
        self._lengths = None if lengths is None else tuple(lengths)
        self._ratios = ratios('actuator_reduction', actuator_reduction or (1.0,) * n, n)
        self._offsets = tuple(actuator_offset or (0.0,) * n)
        self._max_gain, self._passive = max_gain, passive_joints
        self._prepare()

    def _prepare(self) -> None:
        spec = self._spec
        #: The parts that move by themselves.
        self.components = components_of(self._robot, spec)
        if self._lengths is not None:
            lengths = self._lengths
            self.components = tuple(
                each.with_lengths(
                    [
                        known if (given := lengths[loop]) is None else given
                        for loop, known in zip(
                            each.loops, each.structure.lengths.tolist(), strict=True
                        )
                    ]
                )
                for each in self.components
            )
        self.parts = []
        for component in self.components:
            names = component.structure.names
            driven = [names[k] for k in component.structure.driven]
            commanded = [names[k] for k in component.commanded]
            self.parts.append(
                _Part(
                    component,
                    np.array([spec.driven.index(name) for name in driven], dtype=np.intp),
                    np.array([spec.commanded.index(name) for name in commanded], dtype=np.intp),
                    self._max_gain,
                )
            )
        self.passive_joints = tuple(
            name
            for component in self.components
            for place, name in enumerate(component.structure.names)
            if name not in spec.commanded
            and self._passive != 'none'
            and not (self._passive == 'no_balls' and place in component.structure.balls)
        )
        slides = {joint.name for joint in self._robot.joints if joint.type == 'prismatic'}
        self.actuators_turn = slides.isdisjoint(spec.driven)
        self._scale = np.array(self._ratios)
        self._offset = np.array(self._offsets)
        low, high = np.empty(len(spec.driven)), np.empty(len(spec.driven))
        for part in self.parts:
            low[part.driven], high[part.driven] = part.component.lower, part.component.upper
        ends = np.sort((np.stack([low, high]) - self._offset) * self._scale, axis=0)
        self._domain = Domain('actuator', tuple(ends[0].tolist()), tuple(ends[1].tolist()))

    @classmethod
    def from_spec(cls, reader: SpecReader) -> LinkageTransmission:
        """Build from the loops, the start, the actuators and the joints of a description."""
        spec = reader.spec
        robot = reader.robot
        if robot is None:
            raise reader.error('a linkage needs the joints and links of its URDF')
        for joint in spec.joints:
            if 'offset' in joint.given and joint.offset:
                raise reader.error(
                    f"joint '{joint.name}' has an offset, with which the loops would be open",
                    parameter=f'joints.{joint.name}.offset',
                    expected="an offset of its actuator, or <origin> of the URDF's joint",
                    found=f'{joint.offset:g}',
                )
        driven = tuple(
            reader.text('joint', default=actuator.name, actuator=place)
            for place, actuator in enumerate(spec.actuators)
        )
        linkage = LinkageSpec(
            loops=tuple(_loop(reader, element) for element in reader.elements('loop')),
            driven=driven,
            commanded=tuple(joint.name for joint in spec.joints),
            start=tuple(_start(reader, element) for element in reader.elements('start')),
            tolerance=_tolerance(reader),
        )
        # A frame that is not a link would make every joint above the other one a part of the loop.
        tree = Tree(robot)
        for loop in linkage.loops:
            tree.check_frames(loop)
        for other in robot.transmissions:
            _refuse_shared(reader, robot, other)
        components = components_of(robot, linkage)
        lengths: list[float | None] = []
        for number, loop in enumerate(linkage.loops):
            if loop.type != 'rod':
                lengths.append(None)
                continue
            (default,) = (
                float(component.structure.lengths[place])
                for component in components
                for place, own in enumerate(component.loops)
                if own == number
            )
            lengths.append(
                reader.declare(
                    ('loops', str(number + 1), 'length'),
                    default,
                    'Distance that the two frames keep [m].',
                )
            )
        return cls(
            robot,
            linkage,
            actuator_reduction=reader.actuator_reductions(),
            actuator_offset=reader.actuator_offsets(
                'Position of the driven joint at actuator zero [rad or m].'
            ),
            lengths=lengths if any(each is not None for each in lengths) else None,
            max_gain=read_max_gain(reader),
            passive_joints=reader.passive_joints,
        )

    # -- what it is ------------------------------------------------------------------------------

    @property
    def domain(self) -> Domain:
        """The actuators' positions that are mapped."""
        return self._domain

    @property
    def max_gain(self) -> float:
        """By how many times its median over the table a rate or an effort may be multiplied."""
        return self._max_gain

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return len(self._spec.driven)

    @property
    def n_joints(self) -> int:
        """Number of commanded joints."""
        return len(self._spec.commanded)

    @property
    def actuator_reduction(self) -> tuple[float, ...]:
        """Reductions of the actuators, in role order."""
        return tuple(self._ratios)

    def __getstate__(self) -> dict[str, Any]:
        """Return what the linkage was made from."""
        return {
            '_robot': self._robot,
            '_spec': self._spec,
            '_lengths': self._lengths,
            '_ratios': self._ratios,
            '_offsets': self._offsets,
            '_max_gain': self._max_gain,
            '_passive': self._passive,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`__getstate__` gave."""
        vars(self).update(state)
        self._prepare()

    def facts(self) -> tuple[str, ...]:
        """Return what was found of the linkage, in sentences, for each part that moves."""
        return tuple(line for part in self.parts for line in part.facts())

    def doubts(self) -> tuple[str, ...]:
        """Return which limits exclude the start, and which joints of the hardware are loose."""
        declared = {
            each.name
            for block in self._robot.blocks
            for each in block.components
            if each.kind == 'joint' and each.command_interfaces
        }
        return tuple(line for part in self.parts for line in part.doubts(declared))

    @property
    def n_outputs(self) -> int:
        """Number of joints that actuators are mapped to: commanded ones and passive ones."""
        return self.n_joints + len(self.passive_joints)

    @property
    def _with_balls(self) -> bool:
        """Whether the angles of balls are asked for that nobody commands."""
        return self._passive == 'all'

    def _sample(self, part: _Part, forward: bool) -> tuple[PartSample, list[int]]:
        """Return the sample of a part, and where its outputs are among those of the linkage."""
        names = part.component.structure.names
        passive = [(k, name) for k, name in enumerate(self.passive_joints) if name in names]
        published = tuple(names.index(name) for _, name in passive)
        outputs = part.outputs(forward).tolist()
        if forward:
            outputs += [self.n_joints + column for column, _ in passive]
        return part.component.sample(self._with_balls, published), outputs

    #: A robot compiles its samples, part by part.
    can_be_compiled: ClassVar[bool] = True

    def live_parts(self, direction: Direction) -> list[LivePart]:
        """Return the parts as they are mapped one instant after the other."""
        forward = direction == ACTUATOR_TO_JOINT
        result = []
        for part in self.parts:
            component = part.component
            sample, outputs = self._sample(part, forward)
            numbers = (
                *self._scale[part.driven].tolist(),
                *self._offset[part.driven].tolist(),
                *component.lower.tolist(),
                *component.upper.tolist(),
                *part.most,
                *component.structure.start[list(component.structure.held)].tolist(),
                *component.structure.lengths.tolist(),
            )
            result.append(
                LivePart(
                    sample,
                    forward,
                    numbers,
                    tuple(part.inputs(forward).tolist()),
                    tuple(outputs),
                    PartStream(component, sample.ends(forward), numbers),
                )
            )
        return result

    # -- the maps --------------------------------------------------------------------------------

    def map(
        self,
        direction: Direction,
        interface: str,
        values: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        rate: npt.ArrayLike | None = None,
        guess: npt.ArrayLike | None = None,
        report: MapReport | None = None,
    ) -> Array:
        """
        Map values from one space to the other; see :class:`Transmission`.

        Solutions begin at a fixed table, as ``guess`` says nothing of the other joints.
        """
        quantity = quantity_of(interface, direction)
        forward = direction == ACTUATOR_TO_JOINT
        value = as_values('values', values, self.n_actuators if forward else self.n_joints)
        where, moving = value, None
        if quantity not in POSITIONS:
            where = _needed('at', at, value.shape, interface)
        if quantity is Quantity.ACCELERATION:
            moving = _needed('rate', rate, value.shape, interface)
        flat = [
            None if each is None else each.reshape(-1, each.shape[-1])
            for each in (value, where, moving)
        ]
        n_out = self.n_outputs if forward else self.n_actuators
        result = np.full((len(cast('Array', flat[0])), n_out), math.nan)
        report = report or MapReport()
        with np.errstate(all='ignore'):
            for part in self.parts:
                self._map_part(part, forward, quantity, flat, result, report)
        return result.reshape(*value.shape[:-1], n_out)

    def _map_part(
        self,
        part: _Part,
        forward: bool,
        quantity: Quantity,
        arrays: Sequence[Array | None],
        result: Array,
        report: MapReport,
    ) -> None:
        """Map the columns of one part."""
        value, where, moving = (
            None if each is None else each[:, part.inputs(forward)] for each in arrays
        )
        assert value is not None
        assert where is not None
        scale, offset = self._scale[part.driven], self._offset[part.driven]
        sample, outputs = self._sample(part, forward)
        component, ends = part.component, sample.ends(forward)
        way = ends.way.moved(component.structure)
        place, along, force = ends.inward(scale, offset, where, value, value)
        if moving is not None:
            moving = ends.inward(scale, offset, where, moving, value)[1]
        for row in np.flatnonzero(np.isfinite(place).all(axis=1)):
            reason = component.solve(way, place[row])
            if reason:
                report.count(reason)
                continue
            z, slope = way.joints(), way.slope()
            slope[way.lost] = math.nan
            gains, which = slope[way.wanted], 0
            if quantity in POSITIONS:
                found = z[ends.places]
            elif part.is_singular(forward, quantity is Quantity.EFFORT, gains):
                report.count('singular')
                continue
            elif quantity is Quantity.EFFORT:
                found, which = np.linalg.inv(gains).T @ force[row], 2
                found = np.concatenate([found, force[row], [0.0]])[ends.pushed]
            else:
                found, which = slope[ends.places] @ along[row], 1
                if moving is not None:
                    found = found + component.bias(way, z, slope @ moving[row])[ends.places]
            result[row, outputs] = ends.outward(scale, offset, found, found, found)[which]


class _Part:
    """
    A part of the linkage with the places of its members.

    :param driven: Places of its driven joints among the actuators.
    :param commanded: Places of its commanded joints among the joints.
    """

    def __init__(
        self,
        component: Component,
        driven: npt.NDArray[np.intp],
        commanded: npt.NDArray[np.intp],
        max_gain: float,
    ) -> None:
        self.component, self.driven, self.commanded = component, driven, commanded
        # Typical sizes of G and of its inverse: medians over the table.
        sizes = []
        way = component.way(True)
        for state in component.seeds[0][1]:
            way.state[:] = state
            sizes.append(_sizes(way.slope()[list(way.wanted)]))
        typical = np.median(np.array(sizes), axis=0)
        #: Largest sizes of the derivatives forward and of their inverse.
        self.most = float(max_gain * typical[0]), float(max_gain * typical[1])

    def facts(self) -> list[str]:
        """Return what was found of the part."""
        component, structure = self.component, self.component.structure
        names, start = structure.names, structure.start.tolist()

        def listed(places: Sequence[int]) -> str:
            return ', '.join(names[place] for place in places) or 'none'

        passive = [k for k in structure.unknown if k not in component.commanded]
        ranges = ', '.join(
            f'{names[k]} {low:.4g} to {high:.4g}'
            for k, low, high in zip(
                structure.driven, component.lower.tolist(), component.upper.tolist(), strict=True
            )
        )
        lines = [
            f'driven {listed(structure.driven)}; commanded {listed(component.commanded)}; '
            f'passive {listed(passive)}',
            f'{len(structure.unknown)} unknowns, {len(structure.closures.owners)} equations of '
            f'rank {structure.rank}; mobility {len(structure.driven) + len(structure.held)}, '
            f'of which {len(structure.held)} idle',
            'determined '
            + listed([k for k in structure.unknown if k not in structure.idle])
            + f'; idle {listed(structure.idle)}; held {listed(structure.held)}',
            f'start {", ".join(f"{n} {v:.4g}" for n, v in zip(names, start, strict=True))}; '
            f'closed to {structure.gap:.1e}',
            f'range {ranges}; {len(component.seeds[0][0])} assembled positions in the table',
        ]
        return lines

    def doubts(self, declared: Collection[str]) -> list[str]:
        """
        Return what in the part may not be meant.

        :param declared: Joints that the hardware commands.
        """
        structure = self.component.structure
        outside = [
            f'{name} is at {at:.4g}, of {low:.4g} to {high:.4g}'
            for name, at, (low, high) in zip(
                structure.names, structure.start.tolist(), self.component.limits, strict=True
            )
            if not low - 1e-3 <= at <= high + 1e-3
        ]
        loose = [structure.names[k] for k in structure.idle if structure.names[k] in declared]
        lines = []
        if outside:
            lines.append(
                f'limits exclude the start, the assembly found nearest: {", ".join(outside)}; is '
                'a length wrong, a limit too narrow, or a <start> missing?'
            )
        elif (rival := self.component.rival()) is not None:
            place, at = rival
            name = structure.names[place]
            lines.append(
                f"another assembly within the limits has '{name}' at {at:.4g} instead of "
                f'{structure.start[place]:.4g}; <start joint="{name}" position="..."/> says which '
                'one is meant'
            )
        if loose:
            lines.append(
                f'the actuators leave joints undetermined that the hardware commands, '
                f'{", ".join(loose)}; is an actuator or a loop missing?'
            )
        return lines

    def inputs(self, forward: bool) -> npt.NDArray[np.intp]:
        return self.driven if forward else self.commanded

    def outputs(self, forward: bool) -> npt.NDArray[np.intp]:
        return self.commanded if forward else self.driven

    def is_singular(self, forward: bool, is_effort: bool, gains: Array) -> bool:
        """
        Whether an output would be multiplied by too much.

        :param gains: Derivatives of the outputs by the inputs; efforts are multiplied by the
            inverse.
        """
        # Of the way back G is the inverse, and the other way round.
        most, most_inverse = self.most if forward else self.most[::-1]
        size, inverse = _sizes(gains)
        return not (inverse <= most_inverse if is_effort else size <= most)


def _sizes(gains: Array) -> tuple[float, float]:
    """Return the sizes (Frobenius) of a matrix and of its inverse."""
    try:
        return float(np.linalg.norm(gains)), float(np.linalg.norm(np.linalg.inv(gains)))
    except np.linalg.LinAlgError:
        return math.inf, math.inf


def _needed(
    name: str, values: npt.ArrayLike | None, shape: tuple[int, ...], interface: str
) -> Array:
    if values is None:
        raise TransmissionError(
            f'LinkageTransmission cannot map {interface} without {name}=, as its Jacobian varies',
            parameter=name,
            expected='positions' if name == 'at' else 'velocities',
            found='None',
        )
    array = as_values(name, values, shape[-1])
    if array.shape != shape:
        raise ShapeError(name, expected=str(shape), found=array.shape)
    return array


# -- the description -----------------------------------------------------------------------------


def _loop(reader: SpecReader, element: ParameterSpec) -> Loop:
    attributes = dict(element.attributes)
    where = f'<loop> (line {element.line})'
    kind = attributes.pop('type', '')
    if kind not in LOOP_TYPES:
        raise reader.error(
            f'{where} has no type that is known',
            parameter='loop',
            expected=', '.join(LOOP_TYPES),
            found=repr(kind),
        )
    frames = [attributes.pop(name, '') for name in ('frame1', 'frame2')]
    for name, frame in zip(('frame1', 'frame2'), frames, strict=True):
        if not frame:
            raise reader.error(
                f'{where} has no {name}', parameter='loop', expected='a link', found='none'
            )
    if frames[0] == frames[1]:
        raise reader.error(
            f"{where} joins link '{frames[0]}' to itself",
            parameter='loop',
            expected='two links',
            found='one',
        )
    axis, length = (1.0, 0.0, 0.0), None
    if kind == 'hinge':
        text = attributes.pop('axis', '1 0 0')
        numbers = reader.parse_numbers(f'axis of {where}', text)
        size = math.hypot(*numbers)
        if len(numbers) != 3 or not 1e-9 < size < math.inf:
            raise reader.error(
                f'the axis of {where} cannot be used',
                parameter='loop',
                expected='three numbers, not all zero',
                found=repr(text),
            )
        axis = (numbers[0] / size, numbers[1] / size, numbers[2] / size)
    if kind == 'rod' and 'length' in attributes:
        text = attributes.pop('length')
        values = reader.parse_numbers(f'length of {where}', text)
        if len(values) != 1 or not values[0] > 1e-6:
            raise reader.error(
                f'the length of {where} cannot be used',
                parameter='loop',
                expected="a positive number, or type='point'",
                found=repr(text),
            )
        length = values[0]
    _refuse_rest(reader, where, attributes, element)
    return Loop(kind, frames[0], frames[1], axis, length)


def _tolerance(reader: SpecReader) -> float:
    text = reader.text('tolerance', default=str(TOLERANCE))
    values = reader.parse_numbers('tolerance', text)
    if len(values) != 1 or not LEAST_TOLERANCE <= values[0] <= LARGEST_TOLERANCE:
        raise reader.error(
            'tolerance cannot be accepted',
            parameter='tolerance',
            expected=f'a number in [{LEAST_TOLERANCE:g}, {LARGEST_TOLERANCE:g}]',
            found=repr(text),
        )
    return values[0]


def _start(reader: SpecReader, element: ParameterSpec) -> tuple[str, float]:
    attributes = dict(element.attributes)
    where = f'<start> (line {element.line})'
    name, text = attributes.pop('joint', ''), attributes.pop('position', '')
    values = reader.parse_numbers(f'position of {where}', text)
    if not name or len(values) != 1:
        raise reader.error(
            f'{where} is incomplete',
            parameter='start',
            expected='attributes joint and position',
            found=f'{name!r} and {text!r}',
        )
    _refuse_rest(reader, where, attributes, element)
    return name, values[0]


def _refuse_rest(
    reader: SpecReader, where: str, attributes: dict[str, str], element: ParameterSpec
) -> None:
    rest = [*attributes, *(child.name for child in element.children)]
    if rest or element.value:
        raise reader.error(
            f'{where} has more than is read',
            parameter=element.name,
            expected='no ' + (rest[0] if rest else 'text'),
            found=', '.join(rest) or element.value,
        )


def _refuse_shared(reader: SpecReader, robot: RobotDescription, other: TransmissionSpec) -> None:
    """Refuse loops through a joint that another transmission moves."""
    if other.name == reader.spec.name:
        return
    own = linkage_joints(robot, reader.spec)
    theirs = {joint.name for joint in other.joints} | linkage_joints(robot, other)
    shared = sorted(own & theirs)
    if shared:
        raise reader.error(
            f"joint '{shared[0]}' is in a loop and is moved by transmission '{other.name}'",
            expected=f"its actuator in this linkage, instead of in '{other.name}'",
            found=', '.join(shared),
        )
