// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Load the plugin of package `leg_map` with pluginlib, and compare it with the functions in C.
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "hardware_interface/component_parser.hpp"
#include "leg_map.h"
#include "pluginlib/class_loader.hpp"
#include "transmission_interface/exception.hpp"
#include "transmission_interface/transmission_loader.hpp"

using hardware_interface::TransmissionInfo;
using transmission_interface::ActuatorHandle;
using transmission_interface::JointHandle;
using transmission_interface::Transmission;

static const std::vector<std::string> interfaces = {"position", "velocity", "effort"};
static double joints[3][leg_map_JOINTS], actuators[3][leg_map_ACTUATORS];

static bool is_same(double one, double other)
{
  return std::memcmp(&one, &other, sizeof one) == 0 || (std::isnan(one) && std::isnan(other));
}

// Return handles of all interfaces; names are those of the rows.
template <typename Handle, typename Info, std::size_t N>
std::vector<Handle> make_handles(
  const std::vector<Info> & infos, const char * const (&names)[N], double (&rows)[3][N])
{
  std::vector<Handle> handles;
  for (const auto & info : infos) {
    for (std::size_t k = 0; k < N; k++) {
      for (std::size_t row = 0; info.name == names[k] && row < 3; row++) {
        handles.emplace_back(info.name, interfaces[row], &rows[row][k]);
      }
    }
  }
  return handles;
}

static std::vector<JointHandle> make_joints(const TransmissionInfo & info)
{
  return make_handles<JointHandle>(info.joints, leg_map_joint_names, joints);
}

static std::vector<ActuatorHandle> make_actuators(const TransmissionInfo & info)
{
  return make_handles<ActuatorHandle>(info.actuators, leg_map_actuator_names, actuators);
}

static void report(const std::string & what, const std::function<void()> & call)
{
  std::string text = "nothing";
  try {
    call();
  } catch (const transmission_interface::Exception & error) {
    text = error.what();
  }
  std::cout << what << " | " << text << "\n";
}

int main(int, char ** argv)
{
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  pluginlib::ClassLoader<transmission_interface::TransmissionLoader> loader(
    "transmission_interface", "transmission_interface::TransmissionLoader");
  const auto load = [&](const TransmissionInfo & info) {
    return loader.createSharedInstance("transmission_bridge/ParallelAnkleTransmission")->load(info);
  };
  const auto hardware = hardware_interface::parse_control_resources_from_urdf(text.str()).at(0);
  std::vector<std::shared_ptr<Transmission>> loaded;
  TransmissionInfo ankle, lift;
  for (const auto & info : hardware.transmissions) {
    if (info.type.rfind("transmission_bridge/", 0) == 0) {
      loaded.push_back(loader.createSharedInstance(info.type)->load(info));
      loaded.back()->configure(make_joints(info), make_actuators(info));
      (info.name == "lift" ? lift : ankle) = info;
    }
  }
  std::cout << "loaded | " << loaded.size() << "\n";

  static leg_map_state state;
  leg_map_init(&state);
  double found[3][leg_map_JOINTS], command[3][leg_map_ACTUATORS], measured[leg_map_JOINTS];
  std::mt19937 random(1);
  std::normal_distribution<> normal;
  int n_different = 0, n_known = 0;
  for (int k = 0; k < 3000; k++) {
    for (int n = 0; n < leg_map_ACTUATORS; n++) {
      const double phase = 0.01 * k + n;
      actuators[0][n] = k % 20 == 13 ? 90.0 : 4.0 * std::sin(phase);
      actuators[1][n] = k % 10 == 7 ? NAN : std::cos(phase);
      actuators[2][n] = normal(random);
    }
    leg_map_to_joint(&state, actuators, found);
    std::memset(joints, 0, sizeof joints);
    for (const auto & each : loaded) {
      each->actuator_to_joint();
    }
    std::memcpy(measured, found[0], sizeof measured);
    for (int n = 0; n < 3 * leg_map_JOINTS; n++) {
      const int row = n / leg_map_JOINTS, joint = n % leg_map_JOINTS;
      const bool is_loaded =
        joint != leg_map_joint_neck_pitch && joint != leg_map_joint_neck_roll;
      n_different += is_loaded && !is_same(joints[row][joint], found[row][joint]);
      n_known += is_loaded && std::isfinite(joints[row][joint]);
      joints[row][joint] =
        row == 0 && k % 3 == 1 ? NAN : found[row][joint] + 1e-3 * normal(random);
    }
    leg_map_to_actuator(&state, joints, measured, command);
    std::memset(actuators, 0, sizeof actuators);
    for (const auto & each : loaded) {
      each->joint_to_actuator();
    }
    for (int n = 0; n < 3 * leg_map_ACTUATORS; n++) {
      const int row = n / leg_map_ACTUATORS, actuator = n % leg_map_ACTUATORS;
      const bool is_loaded = actuator != leg_map_actuator_neck_left_motor &&
                             actuator != leg_map_actuator_neck_right_motor;
      n_different += is_loaded && !is_same(actuators[row][actuator], command[row][actuator]);
      n_known += is_loaded && std::isfinite(actuators[row][actuator]);
    }
  }
  std::cout << "different | " << n_different << "\nknown | " << n_known << "\n";

  const auto change = [&](
                        const std::string & what, TransmissionInfo info,
                        const std::function<void(TransmissionInfo &)> & apply) {
    apply(info);
    report(what, [&] { load(info); });
  };
  using Info = TransmissionInfo;
  change("nothing", ankle, [](Info &) {});
  change("order", ankle, [](Info & info) { std::swap(info.joints[0], info.joints[1]); });
  change("parameter of the component", lift, [](Info & info) { info.parameters["__x"] = "1"; });
  change("name", ankle, [](Info & info) { info.name = "third"; });
  change("plugin", ankle, [](Info & info) { info.type = "other/Type"; });
  change("joints", ankle, [](Info & info) { info.joints.pop_back(); });
  change("joint", ankle, [](Info & info) { info.joints[1].name = "toe"; });
  change("actuators", ankle, [](Info & info) { info.actuators.push_back(info.actuators[0]); });
  change("actuator", ankle, [](Info & info) { info.actuators[0].name = "lift_motor"; });
  change("role", ankle, [](Info & info) { info.joints[0].role = "joint2"; });
  change("reduction", ankle, [](Info & info) { info.actuators[1].mechanical_reduction = -15.0; });
  change("offset", lift, [](Info & info) { info.joints[0].offset = 0.25; });
  change("value", lift, [](Info & info) { info.parameters["lead"] = "0.006"; });
  change("without a parameter", lift, [](Info & info) { info.parameters.clear(); });
  change("with a parameter", lift, [](Info & info) { info.parameters["pitch"] = "2"; });

  const auto configure = [&](
                           const std::string & what, const TransmissionInfo & info,
                           std::vector<JointHandle> joint_handles,
                           std::vector<ActuatorHandle> actuator_handles) {
    report(what, [&] { load(info)->configure(joint_handles, actuator_handles); });
  };
  const auto of_interface = [](auto handles, const std::string & name) {
    decltype(handles) result;
    for (const auto & each : handles) {
      if (each.get_interface_name() == name) {
        result.push_back(each);
      }
    }
    return result;
  };
  const auto ankle_joints = make_joints(ankle), lift_joints = make_joints(lift);
  const auto ankle_actuators = make_actuators(ankle), lift_actuators = make_actuators(lift);
  configure("all handles", ankle, ankle_joints, ankle_actuators);
  configure("velocity joints", ankle, of_interface(ankle_joints, "velocity"), ankle_actuators);
  configure("effort actuators", ankle, ankle_joints, of_interface(ankle_actuators, "effort"));
  configure("half", ankle, {ankle_joints[0]}, ankle_actuators);
  configure("null", lift, {JointHandle("lift", "position", nullptr)}, lift_actuators);
  configure("affine", lift, of_interface(lift_joints, "effort"), lift_actuators);

  double torque = NAN, force = 2.0, velocity = 7.0;
  const auto last = load(lift);
  last->configure(
    {JointHandle("lift", "force", &force), JointHandle("lift", "velocity", &velocity)},
    {ActuatorHandle("lift_motor", "torque", &torque)});
  last->joint_to_actuator();
  last->actuator_to_joint();
  std::cout << "aliases | " << torque << " " << force << " " << velocity << "\n";
  return 0;
}
