# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Recorded JointState messages through the bridge, many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.inputs import is_possible, Places, Stamp
from transmission_bridge.bridge.options import BridgeOptions, pairs
from transmission_bridge.bridge.state_buffer import StateBuffer
from transmission_bridge.bridge.states import JointView, known_or_empty, StatePath
from transmission_bridge.bridge.turns import wrap_periods
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import (
    FRAME_ID_OFFSET,
    JointStateEncoder,
    JointStateReader,
    PADDING_COUNT,
    parse_joint_state,
    UnusualMessageError,
)
from transmission_bridge.messages.joint_state import JointStateData, JointStateRecord, Layout
from transmission_bridge.transmissions import MapReport, RobotTransmissions
from transmission_bridge.transmissions.interfaces import (
    ACTUATOR_TO_JOINT,
    Direction,
    FIELDS,
    JOINT_TO_ACTUATOR,
)
from transmission_bridge.types import Array, Mask

__all__ = [
    'InputForm',
    'OfflineConverter',
    'OfflinePath',
    'OutputForm',
    'ReverseStatePath',
    'stamp_keys',
]


# -- Blocks of JointState messages that differ in stamp and numbers only -------------------------


Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.int64]

_ENCAPSULATION = slice(0, 2)
_OPTIONS = 3
_SECONDS, _NANOSECONDS = slice(4, 8), slice(8, 12)
_DOUBLE = np.dtype('<f8')


class InputForm:
    """
    The common form of messages: names, lengths, and where the numbers are.

    :param first: A message of this form.
    :raises UnusualMessageError: If it is not in the plain form.
    """

    def __init__(self, first: bytes) -> None:
        form = parse_joint_state(first)
        self._first: Bytes = np.frombuffer(first, dtype=np.uint8)
        self._extents = form.arrays
        # Everything up to the positions' count has to be equal, except for the padding.
        self._head = slice(FRAME_ID_OFFSET, self._extents[0].count_offset + 4)
        self._mask = np.full(self._head.stop - self._head.start, 0xFF, dtype=np.uint8)
        for start, end in form.gaps:
            self._mask[max(start - self._head.start, 0) : max(end - self._head.start, 0)] = 0

    def leading(self, messages: Sequence[bytes]) -> Bytes:
        """Return the bytes of the messages before the first of another form, ``(n, size)``."""
        size = len(self._first)
        alike = list(takewhile(lambda message: len(message) == size, messages))
        block = np.frombuffer(b''.join(alike), dtype=np.uint8).reshape(len(alike), size)
        differs = ((block[:, self._head] ^ self._first[self._head]) & self._mask).any(axis=1)
        options = block[:, _OPTIONS] ^ self._first[_OPTIONS]
        differs |= (options & np.uint8(PADDING_COUNT)) != 0
        counts = [slice(extent.count_offset, extent.count_offset + 4) for extent in self._extents]
        for part in (_ENCAPSULATION, *counts[1:]):
            differs |= (block[:, part] != self._first[part]).any(axis=1)
        return block[: _first_true(differs)]

    def scatter(self, block: Bytes, values: Array, plan: Places) -> None:
        """
        Copy the numbers of messages to the arrays of the robot.

        :param values: Changed in place, shape ``(n, 3, n_in)``.
        :param plan: Where the entries go.
        """
        for row, extent in enumerate(self._extents):
            if extent.length:
                raw = np.ascontiguousarray(block[:, extent.offset : extent.end])
                numbers = raw.view(_DOUBLE)
                values[:, row, plan.places] = (
                    numbers if plan.picks is None else numbers[:, plan.picks]
                )


class OutputForm:
    """
    Writes messages that differ from a first one in stamp and numbers only.

    :param first: The message.
    :param record: Its content.
    :param names: All names that can be published, in order.
    """

    def __init__(self, first: bytes, record: JointStateRecord, names: tuple[str, ...]) -> None:
        self._first: Bytes = np.frombuffer(first, dtype=np.uint8)
        self._extents = parse_joint_state(first).arrays
        index = {name: place for place, name in enumerate(names)}
        self._places = np.array([index[name] for name in record.names], dtype=np.intp)

    def messages(self, mapped: Array, known: Mask, keys: Keys) -> list[bytes]:
        """
        Return the messages of states, up to the first in which other numbers are known.

        :param mapped: Shape ``(n, 3, n_out)``; the first is what the message given was made of.
        :param known: Which numbers are known, of the same shape.
        :param keys: Their stamps.
        """
        count = _first_true(keys < 0)
        count = min(count, _first_true((known != known[:1]).any(axis=(1, 2))))
        if not count:
            return []
        block = np.tile(self._first, (count, 1))
        keys = keys[:count]
        block[:, _SECONDS] = _raw((keys >> 32).astype('<i4'))
        block[:, _NANOSECONDS] = _raw((keys & 0xFFFFFFFF).astype('<u4'))
        for row, extent in enumerate(self._extents):
            if extent.length:
                block[:, extent.offset : extent.end] = _raw(
                    mapped[:count, row, self._places].astype(_DOUBLE)
                )
        whole, size = block.tobytes(), len(self._first)
        return [whole[start : start + size] for start in range(0, len(whole), size)]


def stamp_keys(block: Bytes, received: Sequence[int], others: Stamp | None) -> Keys:
    """
    Return the stamps of results as numbers that are ordered as stamps are.

    :param block: The messages; one without a possible stamp has the time of its receipt.
    :param received: That time [ns].
    :param others: Newest stamp of other drivers, which counts if it is newer.
    :returns: Seconds in the upper and nanoseconds in the lower 32 bits, minus one where these do
        not fit into a message.
    """
    seconds = np.ascontiguousarray(block[:, _SECONDS]).view('<i4')[:, 0].astype(np.int64)
    nanoseconds = np.ascontiguousarray(block[:, _NANOSECONDS]).view('<u4')[:, 0].astype(np.int64)
    keys: Keys = (seconds << 32) | nanoseconds
    for place in np.flatnonzero((keys <= 0) | (nanoseconds >= 10**9)).tolist():
        second, nanosecond = divmod(received[place], 10**9)
        keys[place] = second << 32 | nanosecond if 0 <= second < 2**31 else -1
    if others is not None:
        keys = np.where(keys < 0, -1, np.maximum(keys, others[0] << 32 | others[1]))
    return keys


def _raw(numbers: npt.NDArray[np.generic]) -> Bytes:
    """Return the bytes of each row of numbers."""
    contiguous = np.ascontiguousarray(numbers)
    return contiguous.view(np.uint8).reshape(len(contiguous), -1)


def _first_true(mask: Mask) -> int:
    """Return the place of the first true element, the length where there is none."""
    return int(np.argmax(mask)) if mask.any() else len(mask)


# -- From joint states to actuator states --------------------------------------------------------


class ReverseStatePath:
    """
    Merges joint states by name and maps them to actuator states.

    The counterpart of :class:`~transmission_bridge.bridge.states.StatePath`, for recordings.
    States are not commands: nothing is limited, completed or held. Followers (``<mimic>``) are
    ignored, because the joint that they follow determines the actuators.

    :param robot: The maps.
    :param names: URDF name to driver's name of the driver's actuators; others are left out.
    :ivar picks: Indices of the driver's actuators.
    :ivar names: The driver's names of these.
    :ivar merged: The newest numbers of the joints.
    :ivar report: What became NaN in position-dependent transmissions, and why.
    """

    def __init__(self, robot: RobotTransmissions, names: Mapping[str, str]) -> None:
        picks = [place for place, name in enumerate(robot.actuator_names) if name in names]
        self.picks = np.array(picks, dtype=np.intp)
        self.names = tuple(names[robot.actuator_names[place]] for place in picks)
        self._mapper = robot.stream(JOINT_TO_ACTUATOR)
        self.merged = StateBuffer(robot.joint_names, driver_names=None, timeout=0.0)
        self.report = MapReport()

    def update(
        self, source: str, layout: Layout, data: JointStateData, stamp: Stamp, now: float = 0.0
    ) -> None:
        """
        Use a message; see :meth:`StatePath.update`.

        :raises MessageError: If it is refused; then nothing has changed.
        """
        self.merged.update(source, layout, data, stamp, now)

    def actuator_state(self) -> JointStateRecord | None:
        """
        Return the state of every actuator of which any number is known.

        An interface unknown for all of these actuators is an empty array.

        :returns: ``None`` while nothing is known.
        """
        stamp = self.merged.stamp(0.0)
        if stamp is None:
            return None
        mapped: Array = self._mapper.map_state(self.merged.values(0.0), self.report)[:, self.picks]
        finite = np.isfinite(mapped)
        # An overflow is unknown, too.
        mapped = np.where(finite, mapped, np.nan)
        known = np.asarray(finite.any(axis=0))
        if not known.any():
            return None
        names = tuple(name for name, is_known in zip(self.names, known, strict=True) if is_known)
        return JointStateRecord(stamp, '', names, *map(known_or_empty, mapped[:, known]))


# -- Either direction, for one message or many ---------------------------------------------------


class OfflinePath:
    """
    Maps states of one space to the other, with the options of a bridge.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param options: Those for the content of states are used, not those for when a state is
        published or how long it is valid.
    :param driver: Topic of the driver whose actuators are mapped from joint states.
    :ivar names: All names that can be published, in order.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        options: BridgeOptions,
        driver: str,
    ) -> None:
        self._path: StatePath | ReverseStatePath
        self.names: tuple[str, ...]
        periods = wrap_periods(
            pairs('wrap_period', options.wrap_period),
            robot.actuator_names,
            robot.lost_actuators,
        )
        # In both directions, because it checks the options.
        path = StatePath(
            robot,
            unknown_joints=options.unknown_joints,
            unknown_rates=options.unknown_rates,
            undeclared=options.undeclared_interfaces,
            actuator_names=pairs('actuator_names', options.actuator_names),
            wrap_period=periods,
            unknown_turn=options.unknown_turn,
        )
        # Topics in a recording start with a slash, which options may omit.
        self._drivers = {topic.strip('/'): topic for topic in options.actuator_state_topics}
        self._view: JointView | None = None
        if direction == ACTUATOR_TO_JOINT:
            self._path = path
            self._view = path.view
            self.names = self._view.names
        else:
            called: dict[str, str] = {}
            for name, actuator in path.merged.names_of_driver(self._driver(driver)).items():
                called.setdefault(actuator, name)
            self._path = ReverseStatePath(robot, called)
            self.names = self._path.names
        turns = bool(periods) and direction == ACTUATOR_TO_JOINT
        self._affine = None if turns else robot.mapper.stacked(direction)

    @property
    def can_batch(self) -> bool:
        """
        Whether :meth:`map_batch` returns the same as :meth:`state`.

        A transmission that is not affine may depend on the solution before, and the turns of a
        single-turn encoder on the reading before: these are mapped message by message.
        """
        return self._affine is not None

    @property
    def merged(self) -> StateBuffer:
        """The newest numbers of the inputs."""
        return self._path.merged

    @property
    def report(self) -> MapReport:
        """What became NaN in position-dependent transmissions, and why."""
        return self._path.report

    def update(self, source: str, layout: Layout, data: JointStateData, stamp: Stamp) -> None:
        """
        Use a message.

        Time stands still: in a recording nothing times out, and no clock is set back.

        :raises MessageError: If it is refused; then nothing has changed.
        """
        self._path.update(self._driver(source), layout, data, stamp, 0.0)

    def places(self, source: str, layout: Layout) -> Places:
        """Return where the entries of a message go, after one of its layout was used."""
        return self.merged.places(self._driver(source), layout)

    def _driver(self, topic: str) -> str:
        return self._drivers.get(topic.strip('/'), topic)

    def state(self) -> JointStateRecord | None:
        """Return the state of the other space, ``None`` while nothing is known."""
        if isinstance(self._path, StatePath):
            return self._path.joint_state()
        return self._path.actuator_state()

    def map_batch(self, values: Array) -> tuple[Array, Mask]:
        """
        Map many states.

        :param values: Rows position, velocity, effort of each, shape ``(samples, 3, n_in)``.
        :returns: Shape ``(samples, 3, n_out)``, in the order of :attr:`names`, NaN where unknown
            or hidden; and which are known, hidden or not.
        """
        assert self._affine is not None
        samples = len(values)
        mapped = self._affine(values.reshape(samples, -1)).reshape(samples, len(FIELDS), -1)
        if self._view is not None:
            return self._view(mapped)
        assert isinstance(self._path, ReverseStatePath)
        mapped = mapped[:, :, self._path.picks]
        known: Mask = np.isfinite(mapped)
        return np.where(known, mapped, np.nan), known


# -- Recorded JointState messages, many at a time ------------------------------------------------
#
# A message goes through the path of the live bridge. The following ones that differ from it in
# stamp and numbers only are then mapped together, by the same operations in the same order, so
# that the result equals that of the live bridge to the last bit. As soon as anything else differs
# (names, lengths, frame, which numbers are known) the next message goes through the live path
# again.


#: Messages mapped together: few at first, as the second may differ already, then twice as many
#: each time.
FEWEST, MOST = 16, 1024
#: Messages after which batching is tried again, at most.
LONGEST_WAIT = 255

_BILLION = 10**9


class OfflineConverter:
    """
    Converts the messages of one or several drivers, in the order of receipt.

    :param robot: The maps.
    :param direction: ``actuator_to_joint`` or ``joint_to_actuator``.
    :param read_unusual: Decodes messages that the fast reader does not (big endian, for example);
        raises :class:`MessageError` if it cannot.
    :param options: The options of the bridge, see :class:`OfflinePath`; the defaults by default.
    :param driver: Topic of the driver whose actuators are mapped from joint states.
    :raises TransmissionBridgeError: If an option does not fit the robot.
    :ivar refused: Number of refused messages, by source and reason.
    :ivar sentences: The error of the first of them, likewise.
    """

    def __init__(
        self,
        robot: RobotTransmissions,
        direction: Direction,
        read_unusual: Callable[[bytes], JointStateRecord],
        options: BridgeOptions | None = None,
        driver: str = '',
    ) -> None:
        self._path = OfflinePath(robot, direction, options or BridgeOptions(), driver)
        self._read_unusual = read_unusual
        self._reader = JointStateReader()
        self._encoder = JointStateEncoder()
        self._stamps: dict[str, Stamp] = {}
        self._last: tuple[Layout, JointStateRecord] | None = None
        self._wait = self._skip = 0
        self.refused: Counter[tuple[str, str]] = Counter()
        self.sentences: dict[tuple[str, str], str] = {}

    @property
    def path(self) -> OfflinePath:
        """The path, with its counts."""
        return self._path

    def convert(
        self, source: str, messages: Sequence[bytes], received: Sequence[int]
    ) -> list[bytes | None]:
        """
        Convert consecutive messages of one driver.

        :param source: The driver, for example its topic.
        :param messages: Serialised messages.
        :param received: When each was received [ns], used where it has no stamp.
        :returns: The bridge's output for each message, ``None`` where it publishes nothing.
        """
        converted: list[bytes | None] = []
        while (start := len(converted)) < len(messages):
            first = self._one(source, messages[start], received[start])
            converted.append(first)
            if first is None or not self._path.can_batch or not self._is_worth_trying():
                continue
            self._follow(source, first, messages, received, converted)
        return converted

    def _is_worth_trying(self) -> bool:
        if self._skip:
            self._skip -= 1
            return False
        return True

    def _follow(
        self,
        source: str,
        first: bytes,
        messages: Sequence[bytes],
        received: Sequence[int],
        converted: list[bytes | None],
    ) -> None:
        """Convert the messages of the form of the last one converted, and append them."""
        window, begin = FEWEST, len(converted)
        while len(converted) < len(messages):
            last = len(converted) - 1
            part = slice(last, last + 1 + window)
            more = self._together(source, first, messages[part], received[part])
            converted += more
            if len(more) < min(window, len(messages) - last - 1):
                break
            window = min(2 * window, MOST)
        self._wait = 0 if len(converted) > begin else min(2 * self._wait + 1, LONGEST_WAIT)
        self._skip = self._wait

    # -- one by one ------------------------------------------------------------------------------

    def _one(self, source: str, message: bytes, received: int) -> bytes | None:
        """Convert a message as the live bridge does."""
        try:
            layout, data = self._read(message)
            self._take(source, layout, data, received)
            record = self._path.state()
            if record is None:
                return None
            self._last = layout, record
            return self._encoder.encode(record)
        except MessageError as error:
            key = (source, error.reason)
            self.refused[key] += 1
            self.sentences.setdefault(key, str(error))
            return None

    def _read(self, message: bytes) -> tuple[Layout, JointStateData]:
        try:
            view = self._reader.read(message)
        except UnusualMessageError:
            record = self._read_unusual(message)
            return self._reader.layouts.get(record.names, record.lengths), record
        return view.layout, view

    def _take(self, source: str, layout: Layout, data: JointStateData, received: int) -> None:
        is_given = data.stamp != (0, 0) and is_possible(data.stamp)
        stamp = data.stamp if is_given else divmod(received, _BILLION)
        self._path.update(source, layout, data, stamp)
        self._stamps[source] = stamp

    # -- many together ---------------------------------------------------------------------------

    def _together(
        self, source: str, first: bytes, messages: Sequence[bytes], received: Sequence[int]
    ) -> list[bytes]:
        """
        Convert messages of the form of the first of them, which is converted already.

        :param first: The converted first message.
        :returns: The results after the first, up to a message of another form.
        """
        assert self._last is not None
        layout, record = self._last
        plan = self._path.places(source, layout)
        try:
            form = InputForm(messages[0])
        except UnusualMessageError:
            return []
        block = form.leading(messages)
        if len(block) < 2:
            return []
        values = np.repeat(self._path.merged.values(0.0)[np.newaxis], len(block), axis=0)
        form.scatter(block, values, plan)
        np.copyto(values, np.nan, where=np.isinf(values))
        mapped, known = self._path.map_batch(values)
        others = (stamp for other, stamp in self._stamps.items() if other != source)
        keys = stamp_keys(block, received[: len(block)], max(others, default=None))
        result = OutputForm(first, record, self._path.names).messages(mapped, known, keys)
        if len(result) > 1:
            last = len(result) - 1
            layout, data = self._read(messages[last])
            self._take(source, layout, data, received[last])
        return result[1:]
