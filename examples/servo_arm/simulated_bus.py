# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Servos that are not there, with the two functions that a serial bus needs."""

import time

SPEED = 3000.0  # ticks per second


class Bus:
    """Servos behind their numbers. They move at SPEED and know no turns."""

    def __init__(self, numbers):
        # Switched on with the wrist rolled to the far side of the seam between 4095 and 0.
        self.at = {number: 4000.0 if number == 5 else 2048.0 for number in numbers}
        self.goals, self.time = dict(self.at), time.monotonic()

    def move(self):
        """Move each servo for the time since the last call."""
        now = time.monotonic()
        most, self.time = SPEED * (now - self.time), now
        for number, goal in self.goals.items():
            self.at[number] += max(-most, min(most, goal - self.at[number]))

    def read(self, number):
        """Return what the encoder of a servo reads, 0 to 4095."""
        self.move()
        return float(round(self.at[number]) % 4096)

    def write_goal(self, number, goal):
        """Move a servo by the difference of goal and reading [ticks]."""
        self.goals[number] = round(self.at[number]) + goal - self.read(number)
