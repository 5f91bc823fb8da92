# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""``transmission_bridge plugins``: the installed transmission types."""

from __future__ import annotations

import argparse
from dataclasses import asdict
import textwrap

from transmission_bridge.tools.cli import aligned, Console, Exit, printable
from transmission_bridge.transmissions.registry import PluginInfo, Registry

__all__ = ['run']


def run(options: argparse.Namespace, console: Console) -> Exit:
    """Run the command."""
    plugins = Registry().describe()
    if options.json:
        console.out.json({'plugins': [asdict(plugin) for plugin in plugins]})
    else:
        _show(plugins, console)
    return Exit.ERRORS if any(plugin.error for plugin in plugins) else Exit.OK


def _show(plugins: tuple[PluginInfo, ...], console: Console) -> None:
    rows = [('TYPE', 'PACKAGE', 'VERSION')]
    rows += [(plugin.type_name, plugin.package, plugin.version) for plugin in plugins]
    heading, *lines = aligned(rows)
    console.out.line(heading)
    for plugin, line in zip(plugins, lines, strict=True):
        console.out.line(line)
        # Descriptions are reStructuredText.
        description = plugin.description.replace('``', '')
        text = f'cannot be used: {plugin.error}' if plugin.error else description
        console.out.line(
            textwrap.fill(
                printable(text),
                width=console.out.width or 10**9,
                break_on_hyphens=False,  # commands are to be copied
                initial_indent='    ',
                subsequent_indent='    ',
            )
        )
        for detail in plugin.details.splitlines():
            console.out.line(f'    | {printable(detail)}')
