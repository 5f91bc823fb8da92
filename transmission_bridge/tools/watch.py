# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge watch``: a live table of the running system."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
import math
import time
from typing import Any

from transmission_bridge.messages import JointStateRecord, Layout
from transmission_bridge.tools.bridge_client import BridgeClient, DESCRIPTION
from transmission_bridge.tools.cli import Console, Exit, printable
from transmission_bridge.tools.watch_screen import open_screen
from transmission_bridge.tools.watch_state import COLUMNS, describe_missing_sides, WatchState

#: Seconds between updates on a terminal, and between snapshots elsewhere.
LIVE_PERIOD, _PLAIN_PERIOD = 0.2, 1.0

#: Seconds that --once waits for states of both sides, and then for other messages.
_PATIENCE, _SETTLING = 5.0, 1.2

#: Seconds until a message from every running node has arrived: discovery takes time, and
#: diagnostics are published once a second.
_DISCOVERY = 3.0


class WatchClient(BridgeClient):
    """
    Fills a :class:`WatchState`.

    :param is_complete: Whether no message may be lost.
    :raises UsageError: If rclpy is not installed, ROS cannot be used, or the namespace is invalid.
    """

    def __init__(self, state: WatchState, *, is_complete: bool = False) -> None:
        # Without a name, the description is that of the bridge with the usual one.
        super().__init__('watch', state.node or 'transmission_bridge')
        self._state = state
        self._is_complete = is_complete
        self._names: dict[str, None] = {}
        #: The start of the bridge that was asked for its description.
        self._asked: int | None = None
        self.follow_description(state.set_description)
        self._update_topics()

    def spin_for(self, seconds: float) -> None:
        """Handle callbacks for some time, then subscribe to new topics."""
        super().spin_for(seconds)
        self._update_topics()
        if self.report is not None and self.report.start != self._asked and self.is_present:
            self._asked = self.report.start
            self.get_parameters([DESCRIPTION], self._set_description)

    def _set_description(self, values: Mapping[str, Any], reason: str) -> None:
        if reason:
            self._asked = None
        elif text := values.get(DESCRIPTION):  # else it is on the topic
            self._state.set_description(text)

    def _update_topics(self) -> None:
        self._state.reports = self.reports
        self._names |= dict.fromkeys(self._state.topics)
        topics = {topic: partial(self.store_message, topic) for topic in self._names}
        self.follow_topics(topics, is_complete=self._is_complete)
        self._state.others = [] if self._state.has_driver else self.list_other_topics()

    def store_message(
        self, topic: str, message: JointStateRecord, layout: Layout, now: float
    ) -> None:
        """Store a message."""
        arrays = {name: getattr(message, name).tolist() for name in COLUMNS}
        self._state.store_message(topic, message.names, arrays, now)


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    state = WatchState(options.node.strip('/'))
    client = WatchClient(state)
    try:
        with suppress(KeyboardInterrupt):  # the usual end
            show_until_end(options, console, state, client.spin_for)
    finally:
        client.close()
    missing = describe_missing_sides(state, time.monotonic())
    for sentence in missing:
        console.err.line(f'transmission_bridge: {printable(sentence)}')
    return Exit.ERRORS if missing else Exit.OK


def show_until_end(
    options: argparse.Namespace,
    console: Console,
    state: WatchState,
    spin_for: Callable[[float], None],
) -> None:
    """
    Show one snapshot, or the state repeatedly for some time or until the user quits.

    :param spin_for: Handles callbacks for some seconds.
    """
    begin = time.monotonic()
    left = options.seconds or (_PATIENCE if options.once else math.inf)
    is_plain = options.once or options.plain
    with open_screen(state, console, is_plain=is_plain, pattern=options.filter) as (show, is_live):
        period = LIVE_PERIOD if is_live or options.once else _PLAIN_PERIOD
        is_over = False
        while left > 0.0 and not is_over:
            spin_for(min(period, left))
            left -= period
            if options.once:
                is_over = state.has_driver and state.has_joint_states
                continue
            is_sure = time.monotonic() - begin >= _DISCOVERY or state.is_idle
            missing = describe_missing_sides(state, time.monotonic()) if is_sure else []
            if is_live or missing or not state.is_empty:
                is_over = show([(sentence, 'bold red') for sentence in missing])
        if options.once:
            spin_for(_SETTLING)
            if not state.is_empty:
                show([])
