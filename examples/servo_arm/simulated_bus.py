# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Simulated servos with the two functions of a serial bus."""

import time

SPEED = 3000.0  # ticks per second


class Bus:
    """Servos by number, in multi-turn mode, just switched on."""

    def __init__(self, numbers):
        # The wrist is rolled to the far side of the seam between 4095 and 0.
        self.at = {number: 4000.0 if number == 5 else 2048.0 for number in numbers}
        self.goals, self.time = dict(self.at), time.monotonic()

    def read(self, number):
        """Move all servos by the time since the last call, and return one reading, 0 to 4095."""
        now = time.monotonic()
        most, self.time = SPEED * (now - self.time), now
        for each, goal in self.goals.items():
            self.at[each] += max(-most, min(most, goal - self.at[each]))
        return round(self.at[number]) % 4096

    def write_goal(self, number, goal):
        """Move a servo to a goal in ticks, counted from its turn at power-on."""
        self.goals[number] = goal
