# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A driver of motors that reach each command at once."""

import transmission_bridge as tb


class Motors(tb.Driver):
    """Replace the bodies by calls of the library of your motors."""

    def configure(self, hardware):
        """Open the port; nothing moves."""
        self.positions = [0.0] * len(hardware.actuators)  # before the gear [rad]

    def read(self):
        """Return the positions of the motors."""
        return self.positions

    def write(self, command):
        """Move the motors that have a command."""
        for index, position in command.list_given('position'):
            self.positions[index] = position
