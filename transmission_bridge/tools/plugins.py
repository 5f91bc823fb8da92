# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plugins``: the installed transmission types."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from transmission_bridge.tools.cli import aligned, Console, Exit, printable, Result, wrapped
from transmission_bridge.transmissions import PluginInfo, Registry


def run(_: argparse.Namespace, console: Console) -> Result:
    """Run the command."""
    plugins = Registry().describe()
    return Result(
        _list_plugin_lines(plugins, console.out.width),
        {'plugins': [asdict(plugin) for plugin in plugins]},
        Exit.ERRORS if any(plugin.error for plugin in plugins) else Exit.OK,
    )


def _list_plugin_lines(plugins: tuple[PluginInfo, ...], width: int | None) -> Iterator[str]:
    rows = [('TYPE', 'PACKAGE', 'VERSION')]
    rows += [(plugin.type_name, plugin.package, plugin.version) for plugin in plugins]
    heading, *lines = aligned(rows)
    yield heading
    for plugin, line in zip(plugins, lines, strict=True):
        yield line
        # Descriptions are reStructuredText.
        description = plugin.description.replace('``', '')
        text = f'cannot be used: {plugin.error}' if plugin.error else description
        yield wrapped(f'    {printable(text)}', width)
        for detail in plugin.details.splitlines():
            yield f'    | {printable(detail)}'
