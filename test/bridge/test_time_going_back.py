# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A clock that is set back: what was heard before it does not count as fresh."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.bridge.diagnostics import ERROR
from transmission_bridge.bridge.driver_watch import DriverWatch
from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.bridge.states import PublishPolicy, StatePath


@pytest.fixture
def heard(reference, robot, feed):
    """Return a function that makes a path that has heard of every actuator at 100 s."""

    def make(**options):
        path = StatePath(robot, **options)
        feed(path, reference.Message(reference.ACTUATORS, position=(1.0,) * 6), now=100.0)
        return path

    return make


def test_states_with_a_timeout(heard):
    """With a timeout, states from before are stale at once, and fresh again with a message."""
    path = heard(timeout=0.5)
    assert np.isfinite(path.joint_position(100.25)).all()
    assert np.isnan(path.joint_position(40.0)).all()
    assert path.merged.stale(40.0).all()
    assert path.joint_state(40.0) is None


def test_states_after_a_message(reference, heard, feed):
    """The first message afterwards is all that is known."""
    for options in ({}, {'timeout': 0.5}):
        path = heard(**options)
        feed(path, reference.Message(('winch',), position=(1.0,)), now=40.0)
        assert path.joint_state(40.25).names == ('dial', 'lift')


def test_trigger():
    """A driver that was heard before is not waited for."""
    trigger = PublishPolicy('on_all', ('one', 'two'), lambda source: 0.5)
    assert trigger.heard('two', 100.0)
    assert not trigger.heard('one', 100.25)
    assert trigger.heard('one', 40.0)
    assert not trigger.heard('two', 40.25)


@pytest.mark.parametrize(('now', 'level'), [(100.25, None), (40.0, ERROR)])
def test_input_status(now, level):
    """A topic that was used before is stale."""
    statistics = TopicStatistics('actuator_states')
    statistics.received, statistics.heard, statistics.used = 1, 100.0, 100.0
    troubles = DriverWatch('/actuator_states', lambda: 0.5).look(
        statistics,
        np.zeros(3),
        now=now,
        elapsed=1.0,
        open_for=10.0,
        publishers={1: '/driver'},
        others=(),
    )
    assert [trouble.level for trouble in troubles] == [level] * (level is not None)
