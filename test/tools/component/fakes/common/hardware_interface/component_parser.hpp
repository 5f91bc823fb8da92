// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// What a manager reads of a description: blocks, interfaces, mimic joints, limits, transmissions.
#pragma once
#include <tinyxml2.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "hardware_interface/hardware_info.hpp"

namespace hardware_interface {

using tinyxml2::XMLElement;

inline std::string text_of(const XMLElement * element, const std::string & otherwise = "") {
  return element && element->GetText() ? element->GetText() : otherwise;
}

inline std::string attribute_of(const XMLElement & element, const char * name,
                                const std::string & otherwise = "") {
  const char * value = element.Attribute(name);
  return value ? value : otherwise;
}

inline double number_of(const std::string & text) { return std::strtod(text.c_str(), nullptr); }

template <typename Act>
void each_child(const XMLElement * parent, const char * tag, Act act) {
  for (auto child = parent ? parent->FirstChildElement(tag) : nullptr; child;
       child = child->NextSiblingElement(tag))
    act(*child);
}

inline Texts read_parameters(const XMLElement * parent) {
  Texts found;
  each_child(parent, "param",
             [&](const XMLElement & each) { found[attribute_of(each, "name")] = text_of(&each); });
  return found;
}

inline ComponentInfo read_component(const XMLElement & element) {
  ComponentInfo info;
  info.name = attribute_of(element, "name");
  info.type = element.Name();
  info.parameters = read_parameters(&element);
  const auto read = [&](const char * tag, std::vector<InterfaceInfo> & interfaces) {
    each_child(&element, tag, [&](const XMLElement & each) {
      InterfaceInfo one;
      one.name = attribute_of(each, "name");
      one.data_type = attribute_of(each, "data_type", "double");
      one.size = 1;
      each_child(&each, "param", [&](const XMLElement & param) {
        (attribute_of(param, "name") == "min" ? one.min : one.max) = text_of(&param);
      });
      interfaces.push_back(one);
    });
  };
  read("command_interface", info.command_interfaces);
  read("state_interface", info.state_interfaces);
  return info;
}

inline TransmissionInfo read_transmission(const XMLElement & element) {
  TransmissionInfo info;
  info.name = attribute_of(element, "name");
  info.type = text_of(element.FirstChildElement("plugin"));
  info.parameters = read_parameters(&element);
  const auto read = [&](const char * tag, std::vector<JointInfo> & ends) {
    each_child(&element, tag, [&](const XMLElement & each) {
      JointInfo end;
      end.name = attribute_of(each, "name");
      end.role = attribute_of(each, "role");
      end.mechanical_reduction =
        number_of(text_of(each.FirstChildElement("mechanical_reduction"), "1"));
      end.offset = number_of(text_of(each.FirstChildElement("offset"), "0"));
      ends.push_back(end);
    });
  };
  read("joint", info.joints);
  read("actuator", info.actuators);
  return info;
}

inline void read_joint(const XMLElement & joint, HardwareInfo & info) {
  const auto name = attribute_of(joint, "name");
  const auto find = [&](const std::string & wanted) {
    return static_cast<std::size_t>(
      std::find_if(info.joints.begin(), info.joints.end(),
                   [&](const auto & each) { return each.name == wanted; }) -
      info.joints.begin());
  };
  const auto mimic = joint.FirstChildElement("mimic");
  if (mimic && find(name) < info.joints.size())
    info.mimic_joints.push_back({find(name), find(attribute_of(*mimic, "joint")),
                                 number_of(attribute_of(*mimic, "multiplier", "1")),
                                 number_of(attribute_of(*mimic, "offset", "0"))});
  const auto limit = joint.FirstChildElement("limit");
  if (!limit) return;
  auto & limits = info.limits[name];
  const auto type = attribute_of(joint, "type");
  limits.has_position_limits = type == "revolute" || type == "prismatic";
  limits.min_position = number_of(attribute_of(*limit, "lower", "0"));
  limits.max_position = number_of(attribute_of(*limit, "upper", "0"));
  limits.has_velocity_limits = limits.has_effort_limits = true;
  limits.max_velocity = std::abs(number_of(attribute_of(*limit, "velocity", "0")));
  limits.max_effort = std::abs(number_of(attribute_of(*limit, "effort", "0")));
}

inline std::vector<HardwareInfo> parse_control_resources_from_urdf(const std::string & urdf) {
  std::vector<HardwareInfo> found;
  tinyxml2::XMLDocument document;
  document.Parse(urdf.c_str());
  const auto robot = document.RootElement();
  each_child(robot, "ros2_control", [&](const XMLElement & block) {
    HardwareInfo info;
    info.name = attribute_of(block, "name");
    info.type = attribute_of(block, "type");
    info.is_async = attribute_of(block, "is_async") == "true";
    info.original_xml = urdf;
    const auto hardware = block.FirstChildElement("hardware");
    info.hardware_plugin_name = text_of(hardware->FirstChildElement("plugin"));
    info.hardware_parameters = read_parameters(hardware);
    each_child(&block, "joint",
               [&](const XMLElement & each) { info.joints.push_back(read_component(each)); });
    each_child(&block, "gpio",
               [&](const XMLElement & each) { info.gpios.push_back(read_component(each)); });
    each_child(&block, "transmission", [&](const XMLElement & each) {
      info.transmissions.push_back(read_transmission(each));
    });
    each_child(robot, "joint", [&](const XMLElement & each) { read_joint(each, info); });
    for (const auto & joint : info.joints)
      for (const auto & each : joint.command_interfaces)
        if (each.name == "position" && !each.max.empty())
          info.limits[joint.name].max_position =
            std::min(info.limits[joint.name].max_position, number_of(each.max));
    found.push_back(info);
  });
  return found;
}

}  // namespace hardware_interface
