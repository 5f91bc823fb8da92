# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""YAML through PyYAML, which is part of ROS installations and of rclpy's wheels."""

from __future__ import annotations

from collections.abc import Callable
import importlib
from typing import Any

from transmission_bridge.tools.cli import UsageError

__all__ = ['YamlError', 'compose_yaml']


class YamlError(Exception):
    """A text is not YAML."""


def compose_yaml(text: str) -> Any:
    """
    Return the root node of a document, ``None`` where it is empty.

    Unlike plain values, nodes have line numbers, and quotes of texts.

    :raises YamlError: If it is not YAML.
    :raises UsageError: If PyYAML is missing.
    """
    yaml = _yaml()
    return _guarded(lambda: yaml.compose(text, Loader=yaml.SafeLoader))


def _yaml() -> Any:
    try:
        return importlib.import_module('yaml')
    except ImportError:
        raise UsageError('YAML needs PyYAML: pip install PyYAML') from None


def _guarded(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RecursionError:
        raise YamlError('it is nested too deep') from None
    except Exception as error:  # PyYAML raises ValueError and others for odd scalars, too
        raise YamlError(' '.join(str(error).split())) from None
