# Copyright 2026 The transmission_bridge authors
#
# SPDX-License-Identifier: Apache-2.0
"""
Streamed recordings: MCAP, SQLite files and folders of rosbag2, and CSV.

Messages of other topics are copied unchanged. A file that was cut off or damaged is read up to the
damage.
"""
