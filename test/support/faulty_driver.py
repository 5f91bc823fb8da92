# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The simulated driver with faults, which parameters ``faults.*`` switch on while it runs.

Run as a script; it takes the command line of ``simulated_driver``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transmission_bridge.messages.joint_state import JointStateRecord
from transmission_bridge.ros.command_line import run_node_command

#: Whether values stand still or entries come in another order each time; probability of a value
#: to be NaN, of an entry to be left out or named twice, of a message to be lost.
FAULTS = {
    'freeze': False,
    'nan': 0.0,
    'subset': 0.0,
    'duplicate': 0.0,
    'shuffle': False,
    'drop': 0.0,
}


def changed(sample, change):
    """Return a sample with other arrays."""
    arrays = map(change, (sample.position, sample.velocity, sample.effort))
    return JointStateRecord(sample.stamp, sample.frame_id, sample.names, *arrays)


def taken(sample, places):
    """Return the entries at these indices; empty arrays stay empty."""
    found = changed(sample, lambda values: values[places] if len(values) else values)
    return replace(found, names=tuple(sample.names[place] for place in places))


def with_faults(sample, faults, random):
    """Return a sample as it is sent, ``None``: it is lost."""
    sent = changed(
        sample,
        lambda values: np.where(random.random(len(values)) < faults['nan'], np.nan, values),
    )
    sent = taken(sent, np.flatnonzero(random.random(len(sent.names)) >= faults['subset']))
    twice = np.flatnonzero(random.random(len(sent.names)) < faults['duplicate'])
    sent = taken(sent, np.concatenate([np.arange(len(sent.names)), twice]))
    if faults['shuffle']:
        sent = taken(sent, random.permutation(len(sent.names)))
    return None if random.random() < faults['drop'] else sent


def load():
    """Return the class of the node; run_node_command() handles signals before these imports."""
    from transmission_bridge.ros.simulated_driver import SimulatedDriver

    class FaultyDriver(SimulatedDriver):
        """Sends samples through faults."""

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._random, self._frozen = np.random.default_rng(0), None
            for name, value in FAULTS.items():
                self.declare_parameter(f'faults.{name}', value)

        def _send(self, sample):
            found = self.get_parameters_by_prefix('faults')
            faults = {name: parameter.value for name, parameter in found.items()}
            # Only the stamp of a frozen drive is new.
            self._frozen = (self._frozen or sample) if faults['freeze'] else None
            sample = replace(self._frozen or sample, stamp=sample.stamp)
            sent = with_faults(sample, faults, self._random)
            if sent is not None:
                super()._send(sent)

    return FaultyDriver


if __name__ == '__main__':
    example = 'Example: faulty_driver --ros-args -p rate:=500.0'
    raise SystemExit(run_node_command('faulty_driver', __doc__, example, load, None))
