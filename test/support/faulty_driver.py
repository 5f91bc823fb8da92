# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The simulated driver with faults, which parameters ``faults.*`` switch on while it runs.

Run as a script; it takes the command line of ``simulated_driver``.
"""

from __future__ import annotations

from dataclasses import asdict

from driver_faults import Faults, Injector

from transmission_bridge.ros.command_line import run_node_command


def load():
    """Return the class of the node; run_node_command() handles signals before these imports."""
    from transmission_bridge.ros.simulated_driver import SimulatedDriver

    class FaultyDriver(SimulatedDriver):
        """Sends samples through faults."""

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._injector = Injector()
            for name, value in asdict(Faults()).items():
                self.declare_parameter(f'faults.{name}', value)
            self.add_post_set_parameters_callback(self._take_faults)

        def _take_faults(self, parameters):
            faults = self.get_parameters_by_prefix('faults')
            self._injector.faults = Faults(**{name: each.value for name, each in faults.items()})

        def _send(self, sample):
            sent = self._injector.sent(sample)
            if sent is not None:
                super()._send(sent)

    return FaultyDriver


if __name__ == '__main__':
    raise SystemExit(run_node_command('faulty_driver', __doc__, '-p rate:=500.0', load, None))
