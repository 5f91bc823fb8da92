# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""The state path with options as keywords."""

from __future__ import annotations

import numpy as np

from transmission_bridge.bridge.options.options import BridgeOptions, RECORDED
from transmission_bridge.bridge.states.state_map import StateMap
from transmission_bridge.bridge.states.states import States
from transmission_bridge.errors import MessageError
from transmission_bridge.messages.cdr import JointStateReader
from transmission_bridge.messages.records import JointStateRecord, MessageLayoutTable

_LAYOUTS = MessageLayoutTable()


def record(names, position=(), velocity=(), effort=(), *, stamp=(1, 0)):
    """Return a message."""
    rows = (np.array(row, dtype=float) for row in (position, velocity, effort))
    return JointStateRecord(stamp, '', tuple(names), *rows)


def outcome(act, *given, **more):
    """Return what is found, or why it is refused."""
    try:
        return act(*given, **more)
    except MessageError as error:
        return error.reason


class StatePath:
    """
    States and their plan, without commands.

    :ivar states: The latest numbers.
    :ivar plan: What follows from robot and options.
    """

    def __init__(self, robot, options=RECORDED, *, stamp_hold=0.0, resolves_turns=True):
        self._options = options
        self.plan = StateMap(robot, options, resolves_turns=resolves_turns)
        self.states = States(self.plan, options, stamp_hold=stamp_hold)

    def replace_robot(self, robot):
        """Tune."""
        before, self.plan = self.plan, StateMap(robot, self._options)
        self.states.replace_index(before, self.plan)

    def reset(self):
        """Forget all messages."""
        self.states.reset()

    def merge_message(self, source, layout, data, stamp, now=0.0):
        """Use a message."""
        self.states.merge_message(self.plan, source, layout, data, stamp, now)

    def feed(self, message, source='driver', now=0.0):
        """Use a message of the reference, or a record."""
        layout = _LAYOUTS.find_layout(message.names, message.lengths)
        data = getattr(message, 'received', message)
        self.merge_message(source, layout, data, message.stamp, now)

    def encode_state(self, now=0.0):
        """Return the bytes of the joint states."""
        return self.states.encode_state(self.plan, now)

    def make_joint_state(self, now=0.0):
        """Return the record of the joint states."""
        data = self.encode_state(now)
        return None if data is None else JointStateReader().read_message(data).copy_record()

    def compute_joint_motion(self, now=0.0):
        """Return positions and velocities of the joints."""
        return self.states.compute_joint_motion(self.plan, now)


def state_path(robot, *, stamp_hold=0.0, timeout=0.0, resolves_turns=True, **options):
    """
    Return a state path.

    :param timeout: ``state_timeout``; here numbers stay known by default.
    :param options: Other options of the bridge; those that are pairs may be mappings.
    """
    for name in ('actuator_names', 'wrap_period'):
        if isinstance(entries := options.get(name), dict):
            options[name] = tuple(f'{key}={value}' for key, value in entries.items())
    given = BridgeOptions(state_timeout=timeout, **options)
    return StatePath(robot, given, stamp_hold=stamp_hold, resolves_turns=resolves_turns)
