# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
``transmission_bridge plugins``: the installed transmission types, and drivers in Python.

It imports every plugin, which may run any code. Programs of users read the JSON: its keys are the
fields of ``PluginInfo``, also for drivers. The table is free.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict
import inspect
from itertools import chain

from transmission_bridge.drivers import DriverError, find_driver_class, list_driver_plugins
from transmission_bridge.tools.cli import (
    align_rows,
    Console,
    Exit,
    printable,
    ToolResult,
    wrap_text,
)
from transmission_bridge.transmissions import PluginInfo, Registry


def run(_: argparse.Namespace, console: Console) -> ToolResult:
    """Run the command: exit code 1 if a plugin cannot be used."""
    plugins, drivers = Registry().describe(), []
    for plugin, entries in sorted(list_driver_plugins().items()):
        try:
            documentation = inspect.cleandoc(
                getattr(find_driver_class(plugin), '__doc__', None) or ''
            )
            texts = {'description': documentation.partition('\n')[0]}
        except DriverError as error:
            texts = {'error': str(error)}
        for entry in entries:
            package = (entry.dist.name, entry.dist.version) if entry.dist else ('', '')
            drivers.append(PluginInfo(plugin, entry.value, *package, **texts))
    width = console.out.width
    return ToolResult(
        chain(
            _list_plugin_lines('TYPE', plugins, width),
            _list_plugin_lines('DRIVER', drivers, width) if drivers else (),
        ),
        {
            'plugins': [asdict(plugin) for plugin in plugins],
            'drivers': [asdict(driver) for driver in drivers],
        },
        Exit.ERRORS if any(plugin.error for plugin in (*plugins, *drivers)) else Exit.OK,
    )


def _list_plugin_lines(
    kind: str, plugins: Iterable[PluginInfo], width: int | None
) -> Iterator[str]:
    rows = [(kind, 'PACKAGE', 'VERSION')]
    rows += [(plugin.type_name, plugin.package, plugin.version) for plugin in plugins]
    heading, *lines = align_rows(rows)
    yield heading
    for plugin, line in zip(plugins, lines, strict=True):
        yield line
        # Descriptions are reStructuredText.
        description = plugin.description.replace('``', '')
        text = f'cannot be used: {plugin.error}' if plugin.error else description
        yield wrap_text(f'    {printable(text)}', width)
        for detail in plugin.details.splitlines():
            yield f'    | {printable(detail)}'
