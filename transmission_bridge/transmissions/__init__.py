# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The mathematics: maps between actuators and joints. This room does not read XML.

It needs numpy. Equations, tables and linkages also need CasADi, which is imported at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TYPE_CHECKING

from transmission_bridge.transmissions.differential import DifferentialTransmission
from transmission_bridge.transmissions.domain import Domain
from transmission_bridge.transmissions.four_bar_linkage import FourBarLinkageTransmission
from transmission_bridge.transmissions.linear import LinearTransmission, Ratio
from transmission_bridge.transmissions.registry import Registry
from transmission_bridge.transmissions.report import MapReport
from transmission_bridge.transmissions.robot_transmissions import RobotTransmissions
from transmission_bridge.transmissions.simple import SimpleTransmission
from transmission_bridge.transmissions.spec_reader import SpecReader
from transmission_bridge.transmissions.transmission import Transmission

if TYPE_CHECKING:
    from transmission_bridge.transmissions.equation_transmission import (
        EquationTransmission,
        Parameter,
    )
    from transmission_bridge.transmissions.tabulated import TabulatedTransmission

__all__ = [
    'DifferentialTransmission',
    'Domain',
    'EquationTransmission',
    'FourBarLinkageTransmission',
    'LinearTransmission',
    'MapReport',
    'Parameter',
    'Ratio',
    'Registry',
    'RobotTransmissions',
    'SimpleTransmission',
    'SpecReader',
    'TabulatedTransmission',
    'Transmission',
]


def __getattr__(name: str) -> Any:
    """Import equations and tables at first use: most robots do not need them."""
    if name in ('EquationTransmission', 'Parameter'):
        return getattr(import_module(f'{__name__}.equation_transmission'), name)
    if name == 'TabulatedTransmission':
        return import_module(f'{__name__}.tabulated').TabulatedTransmission
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
