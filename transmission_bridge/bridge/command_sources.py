# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Who commanded each joint last, and how often that had been another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from transmission_bridge.bridge.statistics import CommandCounts

__all__ = ['CommandSources']

Index = npt.NDArray[np.intp]


class CommandSources:
    """
    The sources of commands; the newest of a joint counts.

    :param joint_names: The joints.
    :ivar contested: Commands to a joint that another source had commanded, by joint.
    :ivar counts: What became of the commands of each source.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._joint_names = tuple(joint_names)
        self.contested: Counter[str] = Counter()
        self.counts: defaultdict[str, CommandCounts] = defaultdict(CommandCounts)
        self.reset()

    def reset(self) -> None:
        """Forget who commanded what; what was counted stays."""
        self._newest = [''] * len(self._joint_names)
        self._last_joints: Index | None = None
        self._last_source = ''

    def credit(self, joints: Index, source: str) -> None:
        """
        Note who commands joints now.

        :param joints: Their places; not to be changed. The very same array from the same source
            again, which is what a controller's stream comes to, says nothing new.
        """
        if joints is self._last_joints and source == self._last_source:
            return
        self._last_joints, self._last_source = joints, source
        for place in joints:
            if self._newest[place] not in ('', source):
                name = self._joint_names[place]
                self.contested[name] += 1
                self.counts[source].contested[name] += 1
            self._newest[place] = source
