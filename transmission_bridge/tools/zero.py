# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge zero``: set the offsets of a running bridge from its present positions."""

from __future__ import annotations

import argparse
from functools import partial

from transmission_bridge.tools.bridge_client import open_bridge, require_answer
from transmission_bridge.tools.cli import Console, Exit, printable


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    with open_bridge('zero', options.node) as client:
        stored = require_answer(client, partial(client.zero_joints, absolute=options.absolute))
    console.out.line(printable(stored))
    return Exit.OK
