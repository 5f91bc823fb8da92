// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// What a test sees of the drivers, and what it does to them.
#pragma once
#include <map>
#include <string>
#include <vector>

struct World
{
  std::map<std::string, double> states, commands;  // by actuator/interface
  std::vector<std::string> calls;                  // of the life cycle and the modes
  std::string fault;                               // the call that fails next
  std::map<std::string, std::string> parameters;   // of each actuator: actuator.name
  int reads = 0, writes = 0, zero_periods = 0;
};

extern World world;
