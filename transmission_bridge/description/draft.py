# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""A transmission as one element tells it, before it is compared with the rest of the robot."""

from __future__ import annotations

from dataclasses import dataclass

from transmission_bridge.description.control_specs import (
    RejectedTransmission,
    TransmissionSpec,
)
from transmission_bridge.description.xml import Element

__all__ = ['Draft']


@dataclass(frozen=True)
class Draft:
    """
    What was read of a ``<transmission>``.

    :param element: Where it stands.
    :param summary: What could be read of it in any case.
    :param spec: The transmission, ``None`` where an error finding already cost it.
    :param lacks_actuator: Whether it is in a ``type="actuator"`` block and declares no actuator.
    """

    element: Element
    summary: RejectedTransmission
    spec: TransmissionSpec | None
    lacks_actuator: bool = False
