// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "hardware_interface/system_interface.hpp"

namespace hardware_interface {
using HardwareComponent = FakeComponent;
}
