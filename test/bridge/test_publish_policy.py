# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""When joint states are due, with drivers at their own rates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.states import PublishPolicy

DRIVERS = ('one', 'two', 'three')


@pytest.mark.parametrize(('policy', 'due'), [('on_any', True), ('rate', False)])
def test_every_message(policy, due):
    """Every message is due with on_any, none with rate."""
    trigger = PublishPolicy(BridgeOptions(publish=policy), DRIVERS)
    assert [trigger.should_publish(name, 1.0) for name in ('one', 'one', 'three', 'two')] == 4 * [
        due
    ]


@given(st.lists(st.sampled_from(DRIVERS), max_size=40))
def test_one_message_of_each(order):
    """With on_all, the message is due that completes a set of one or more from every driver."""
    trigger = PublishPolicy(BridgeOptions(publish='on_all'), DRIVERS)
    seen = set()
    for name in order:
        seen.add(name)
        assert trigger.should_publish(name, 1.0) == (len(seen) == 3)
        if len(seen) == 3:
            seen.clear()


def test_silent_drivers():
    """With on_all, a driver that timed out, or did not come in time, is left out until it does."""
    trigger = PublishPolicy(BridgeOptions(publish='on_all'), DRIVERS, lambda source: 0.5)
    assert not trigger.should_publish('one', 1.0)
    assert not trigger.should_publish('two', 1.25)
    assert not trigger.should_publish('one', 1.5)  # three may still come
    assert trigger.should_publish('one', 1.75)  # now it is too late
    assert not trigger.should_publish('one', 1.75)  # two may still come
    assert trigger.should_publish('one', 2.0)
    assert not trigger.should_publish('three', 2.0)
    assert trigger.should_publish('one', 2.25)


def test_time_going_back():
    """A driver that was heard before is waited for no longer than its timeout."""
    trigger = PublishPolicy(BridgeOptions(publish='on_all'), ('one', 'two'), lambda source: 0.5)
    calls = (('two', 100.0), ('one', 100.25), ('two', 100.5), ('one', 40.0), ('one', 40.75))
    found = [trigger.should_publish(*call) for call in calls]
    assert found == [False, True, False, False, True]
