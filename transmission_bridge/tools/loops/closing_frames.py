# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Frames ``closing_NAME_1`` and ``closing_NAME_2`` in a URDF, as onshape-to-robot writes them.

They are links without geometry that have to coincide. A revolute mate has two more frames,
``closing_NAME_1_z`` and ``closing_NAME_2_z``, on its axis z.
"""

from __future__ import annotations

import re

from transmission_bridge.description import RobotDescription
from transmission_bridge.tools.cli import UsageError
from transmission_bridge.tools.loops.found import Found, FoundLoop, Frame

_FIRST = re.compile(r'(closing_.+)_1')


def read_closing_frames(robot: RobotDescription) -> Found:
    """
    Return the loops between the frames of a URDF.

    :raises UsageError: If one frame of a pair is missing.
    """
    links = {link.name for link in robot.links}
    loops, notes = [], []
    for link in robot.links:
        match = _FIRST.fullmatch(link.name)
        if match is None:
            continue
        name, other = match[1], f'{match[1]}_2'
        if other not in links:
            raise UsageError(f"expected link '{other}' for link '{link.name}', found none")
        is_hinge = {f'{link.name}_z', f'{other}_z'} <= links
        frames = Frame(link.name), Frame(other)
        loops.append(FoundLoop(name, 'hinge' if is_hinge else 'point', frames))
        if not is_hinge:
            notes.append(
                f"loop '{name}': taken as a ball; if it is fastened, change its type to weld"
            )
    return Found(loops=tuple(loops), notes=tuple(notes))
