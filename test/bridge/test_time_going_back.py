# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A clock that is set back: what was heard before it does not count as fresh."""

from __future__ import annotations

import numpy as np
import pytest

from transmission_bridge.bridge.diagnostics import CHECKS, ERROR, find_troubles
from transmission_bridge.bridge.inputs import TopicStatistics
from transmission_bridge.bridge.options import BridgeOptions
from transmission_bridge.bridge.snapshot import DriverFacts, Moment, Peers
from transmission_bridge.bridge.states import PublishPolicy


def test_trigger():
    """A driver that was heard before is waited for no longer than its timeout."""
    trigger = PublishPolicy(BridgeOptions(publish='on_all'), ('one', 'two'), lambda source: 0.5)
    assert not trigger.should_publish('two', 100.0)
    assert trigger.should_publish('one', 100.25)
    assert not trigger.should_publish('two', 100.5)
    assert not trigger.should_publish('one', 40.0)
    assert trigger.should_publish('one', 40.75)


@pytest.mark.parametrize(('now', 'level'), [(100.25, None), (40.0, ERROR)])
def test_input_status(now, level):
    """A topic that was used before is stale."""
    statistics = TopicStatistics('actuator_states')
    statistics.received, statistics.heard, statistics.used = 1, 100.0, 100.0
    driver, peers = DriverFacts(statistics), Peers('/actuator_states', publishers={1: '/driver'})
    driver.update_state(peers, np.zeros(3), 0.5, Moment(now, elapsed=1.0, open_for=10.0))
    troubles = find_troubles(driver, CHECKS[DriverFacts])
    assert [trouble.level for trouble in troubles] == [level] * (level is not None)
