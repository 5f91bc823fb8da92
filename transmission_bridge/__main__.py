# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""Run the command line by ``python -m transmission_bridge``, as the installed script does."""

from __future__ import annotations

from transmission_bridge.tools.main import main

if __name__ == '__main__':
    raise SystemExit(main())
