# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
A driver that does what a test says: the file in ``<param name="script">`` has a fault by method.

It appends its calls, and each command that differs from the last, to the same file with ``.log``.
"""

import json
from pathlib import Path
import time

import numpy as np
from patient_clock import PatientClock

import transmission_bridge as tb
from transmission_bridge.drivers import host

host.monotonic = PatientClock()

#: What ``read`` returns by fault, of positions in three rows.
READS = {
    'one lost': lambda rows: np.where(np.arange(rows.shape[1]) == 0, np.nan, rows),
    'shape': lambda rows: rows[:, 1:],
}


class Scripted(tb.Driver):
    """Motors that are at once where they are told to be, and show the rate they are told."""

    def configure(self, hardware):
        """Read the script."""
        self._script = Path(hardware.read_text('script'))
        self._rows = np.zeros((3, len(hardware.actuators)))
        self._written = None
        self._do('configure')

    def activate(self):
        """Start without rates."""
        self._rows[1:] = 0.0
        self._do('activate')

    def read(self):
        """Return the present state, or what the script says."""
        return READS.get(self._do('read', log=False), lambda rows: rows)(self._rows.copy())

    def write(self, command):
        """Follow."""
        self._do('write', log=False)
        rows = np.array(command)
        np.copyto(self._rows, rows, where=~np.isnan(rows))
        if self._written is None or not np.array_equal(rows, self._written, equal_nan=True):
            self._note(f'write {json.dumps(rows.tolist())}')
        self._written = rows

    def status(self):
        """Return a temperature."""
        self._do('status', log=False)
        return {'temperature [C]': np.full(self._rows.shape[1], 31.5)}

    def deactivate(self):
        """Note it."""
        self._do('deactivate')

    def cleanup(self):
        """Note it."""
        self._do('cleanup')

    def _do(self, method, *, log=True):
        if log and hasattr(self, '_script'):
            self._note(method)
        fault = self._find_fault(method)
        if fault == 'raise':
            raise RuntimeError(f'bus fault in {method}')
        if fault == 'exit':
            raise SystemExit(3)
        while fault == 'hang':
            time.sleep(0.02)
            fault = self._find_fault(method)
        if fault == 'slow':
            time.sleep(0.05)
        return fault

    def _find_fault(self, method):
        try:
            return json.loads(self._script.read_text(encoding='utf-8')).get(method, '')
        except ValueError:  # the test is writing it
            return ''

    def _note(self, text):
        with open(f'{self._script}.log', 'a', encoding='utf-8') as file:
            file.write(f'{text}\n')
