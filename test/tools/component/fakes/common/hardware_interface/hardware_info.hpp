// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// The members of ros2_control's descriptions that the component and the plugin use.
#pragma once
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace joint_limits {
struct JointLimits {
  double min_position = 0.0, max_position = 0.0, max_velocity = 0.0, max_effort = 0.0;
  bool has_position_limits = false, has_velocity_limits = false, has_effort_limits = false;
};
struct SoftJointLimits {};
}  // namespace joint_limits

namespace hardware_interface {

using Texts = std::unordered_map<std::string, std::string>;

struct InterfaceInfo {
  std::string name, min, max, initial_value, data_type = "double";
  int size;
};

struct ComponentInfo {
  std::string name, type;
  std::vector<InterfaceInfo> command_interfaces, state_interfaces;
  Texts parameters;
};

struct MimicJoint {
  std::size_t joint_index, mimicked_joint_index;
  double multiplier = 1.0, offset = 0.0;
};

struct JointInfo {
  std::string name;
  std::vector<std::string> state_interfaces, command_interfaces;
  std::string role;
  double mechanical_reduction = 1.0, offset = 0.0;
};

using ActuatorInfo = JointInfo;

struct TransmissionInfo {
  std::string name, type;
  std::vector<JointInfo> joints;
  std::vector<ActuatorInfo> actuators;
  Texts parameters;
};

struct HardwareInfo {
  std::string name, type;
  unsigned int rw_rate = 0;
  bool is_async = false;
  std::string hardware_plugin_name;
  Texts hardware_parameters;
  std::vector<ComponentInfo> joints;
  std::vector<MimicJoint> mimic_joints;
  std::vector<ComponentInfo> sensors, gpios;
  std::vector<TransmissionInfo> transmissions;
  std::string original_xml;
  std::unordered_map<std::string, joint_limits::JointLimits> limits;
  std::unordered_map<std::string, joint_limits::SoftJointLimits> soft_limits;
};

struct InterfaceDescription {
  InterfaceDescription(const std::string & owner, const InterfaceInfo & info)
  : prefix_name(owner), interface_info(info) {}
  std::string prefix_name;
  InterfaceInfo interface_info;
};

}  // namespace hardware_interface
