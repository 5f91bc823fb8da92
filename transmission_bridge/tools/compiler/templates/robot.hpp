// SPDX-License-Identifier: Apache-2.0
//
// The data of ROBOT for ros2_control. Written by transmission_bridge compile. See README.md.
#pragma once

#define MAPPED_NAMESPACE NAME_mapped

#include "NAME.h"
#include "mapped/types.hpp"

namespace NAME_mapped {

inline constexpr int n_joints = NAME_JOINTS, n_actuators = NAME_ACTUATORS;
inline constexpr int n_transmissions = NAME_TRANSMISSIONS;
inline constexpr const char * package = "NAME";
inline const auto & joint_names = NAME_joint_names;
inline const auto & actuator_names = NAME_actuator_names;
inline const auto & live_names = NAME_number_names;

// The functions in C.
using State = NAME_state;
inline constexpr auto init_state = NAME_init;
inline constexpr auto to_joint = NAME_to_joint;
inline constexpr auto to_actuator = NAME_to_actuator;
inline constexpr auto status_text = NAME_status_text;
inline constexpr auto reason_text = NAME_reason_text;

inline int set_live(State * state, int which, double value) {
  return NAME_set(state, static_cast<NAME_number>(which), value);
}

inline const std::vector<Transmission> transmissions = {
@MEMBERS@
};

// The transmissions that command joints and actuators, and the actuators with the roles of joints,
// -1 without one.
inline constexpr int joint_owners[] = {@JOINT_OWNERS@};
inline constexpr int actuator_owners[] = {@ACTUATOR_OWNERS@};
inline constexpr int joint_actuators[] = {@JOINT_ACTUATORS@};

// The number at the motor in SI is the number of the driver times its scale.
inline const double scales[n_actuators][n_rows] = {
@SCALES@
};

inline const std::vector<Fact> facts = {
@FACTS@
};

inline const std::vector<Number> numbers = {
@DESCRIPTION_NUMBERS@
};

inline const Names of_parameter_files = {
@OF_PARAMETER_FILES@
};

inline const std::vector<Loadable> loadables = {
@LOADABLES@
};

}  // namespace NAME_mapped
