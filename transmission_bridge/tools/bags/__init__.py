# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Recordings, read and written a piece at a time: MCAP, rosbag2's SQLite files and folders, CSV.

MCAP records are handled here byte for byte rather than through a library for messages: what a
conversion does not concern has to come out as it went in (publish times, sequence numbers,
connection metadata, schemas of any kind, attachments), and a file that was cut off or damaged has
to be read as far as it goes.
"""
