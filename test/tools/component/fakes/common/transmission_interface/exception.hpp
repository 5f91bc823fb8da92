// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "transmission_interface/transmission_loader.hpp"
