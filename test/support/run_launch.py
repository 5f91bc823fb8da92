# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Run ``FILE NAME:=VALUE ...`` as ``ros2 launch``, without ros2cli."""

from __future__ import annotations

import sys

from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription

file, *arguments = sys.argv[1:]
included = IncludeLaunchDescription(
    file, launch_arguments=[argument.split(':=', 1) for argument in arguments]
)
# Else launch leaves SIGINT to the terminal, which sends it to all processes.
service = LaunchService(noninteractive=True)
service.include_launch_description(LaunchDescription([included]))
raise SystemExit(service.run())
