# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
The bridge without a node: plan, memory, rules, readers and outlets. Needs numpy and lxml.

Other rooms import from here, and from ``options``, ``states`` and ``diagnostics`` below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transmission_bridge.lazy import import_lazily

if TYPE_CHECKING:
    from transmission_bridge.bridge.actuator_drivers import DriverUnits as DriverUnits
    from transmission_bridge.bridge.bridge import Bridge as Bridge
    from transmission_bridge.bridge.implausible import (
        warn_of_endless_commands as warn_of_endless_commands,
        warn_of_implausible_numbers as warn_of_implausible_numbers,
        warn_of_other_topics as warn_of_other_topics,
        warn_of_several_interfaces as warn_of_several_interfaces,
    )
    from transmission_bridge.bridge.inputs import (
        StallWatch as StallWatch,
        Stamp as Stamp,
        StampFilter as StampFilter,
        TopicStatistics as TopicStatistics,
    )
    from transmission_bridge.bridge.offline import OfflineBridge as OfflineBridge
    from transmission_bridge.bridge.outlets import Outgoing as Outgoing
    from transmission_bridge.bridge.readers import (
        list_command_names as list_command_names,
        SINGLE_TOPICS as SINGLE_TOPICS,
    )
    from transmission_bridge.bridge.robot_facts import (
        compute_motor_bounds as compute_motor_bounds,
        load_untuned_maps as load_untuned_maps,
    )
    from transmission_bridge.bridge.zeroing import (
        check_zero_at_rest as check_zero_at_rest,
        compute_absolute_zeros as compute_absolute_zeros,
        compute_zero_offsets as compute_zero_offsets,
        list_joints_at_zero as list_joints_at_zero,
        list_zero_positions as list_zero_positions,
    )

_, __getattr__ = import_lazily(__name__)
