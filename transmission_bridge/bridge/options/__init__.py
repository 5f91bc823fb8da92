# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Options and parameters of the bridge by name, and the files that hold them.

Node and tools use them; all names are public, as parameters, in files and on command lines.
"""

from __future__ import annotations

from transmission_bridge.bridge.options.files import (
    describe_damaged_files as describe_damaged_files,
    describe_yaml_node as describe_yaml_node,
    PARAMETERS as PARAMETERS,
    read_number as read_number,
    read_yaml_parameters as read_yaml_parameters,
    TunedFile as TunedFile,
    warn_of_unused_parameter_files as warn_of_unused_parameter_files,
)
from transmission_bridge.bridge.options.options import (
    AUTO as AUTO,
    BridgeOptions as BridgeOptions,
    COMMAND_TIMEOUT as COMMAND_TIMEOUT,
    format_yaml_number as format_yaml_number,
    HOSTED as HOSTED,
    list_parameter_names as list_parameter_names,
    OptionRange as OptionRange,
    PREFIX as PREFIX,
    split_option_pairs as split_option_pairs,
    strip_prefixes as strip_prefixes,
    warn_of_unbridged_options as warn_of_unbridged_options,
)
