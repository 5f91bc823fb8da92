// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Drivers that know motors only, for tests.
#include "motors.hpp"

#include <cmath>

#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

World world;

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;
using Names = std::vector<std::string>;

class Motors : public hardware_interface::SystemInterface {
public:
#if __has_include("hardware_interface/hardware_component.hpp")
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override {
#else
  CallbackReturn on_init(const hardware_interface::HardwareInfo & params) override {
#endif
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    for (const auto & joint : info_.joints) {
      for (const auto & [name, value] : joint.parameters)
        world.parameters[joint.name + "." + name] = value;
      for (const auto & each : joint.state_interfaces)
        world.states.emplace(joint.name + "/" + each.name, 0.0);
      for (const auto & each : joint.command_interfaces)
        world.commands[joint.name + "/" + each.name] = NAN;
    }
    for (const auto & [name, value] : info_.hardware_parameters) world.parameters[name] = value;
    return note("init");
  }
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
    return note("configure");
  }
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override { return note("activate"); }
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override {
    return note("deactivate");
  }
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override { return note("cleanup"); }
  CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) override {
    RCLCPP_INFO(get_logger(), "the motors are shut down");
    return CallbackReturn::SUCCESS;
  }
  CallbackReturn on_error(const rclcpp_lifecycle::State &) override { return note("error"); }
  return_type prepare_command_mode_switch(const Names & start, const Names & stop) override {
    return mode("prepare", start, stop);
  }
  return_type perform_command_mode_switch(const Names & start, const Names & stop) override {
    return mode("perform", start, stop);
  }
  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override {
    world.reads++;
    world.zero_periods += period.seconds() <= 0.0;
    for (auto & [name, value] : world.states) give(name, value);
    return fails("read") ? return_type::ERROR : return_type::OK;
  }
  return_type write(const rclcpp::Time &, const rclcpp::Duration & period) override {
    world.writes++;
    world.zero_periods += period.seconds() <= 0.0;
    for (auto & [name, value] : world.commands) value = get(name);
    return fails("write_deactivate") ? return_type::DEACTIVATE
           : fails("write")          ? return_type::ERROR
                                     : return_type::OK;
  }

protected:
  virtual void give(const std::string & name, double value) {
    if (has_state(name)) set_state(name, value);
  }
  virtual double get(const std::string & name) { return get_command<double>(name); }
  static bool fails(const std::string & call) {
    const bool now = world.fault == call;
    if (now) world.fault.clear();
    return now;
  }
  static CallbackReturn note(const std::string & call) {
    world.calls.push_back(call);
    if (fails(call + "_failure")) return CallbackReturn::FAILURE;
    return fails(call) ? CallbackReturn::ERROR : CallbackReturn::SUCCESS;
  }
  static return_type mode(std::string call, const Names & start, const Names & stop) {
    const bool now = fails(call);
    for (const auto & name : start) call += " +" + name;
    for (const auto & name : stop) call += " -" + name;
    world.calls.push_back(call);
    return now ? return_type::ERROR : return_type::OK;
  }
};

// With the exports of former versions.
class OldMotors : public Motors {
  std::map<std::string, double> states_, commands_;
  std::vector<hardware_interface::StateInterface> export_state_interfaces() override {
    std::vector<hardware_interface::StateInterface> all;
    for (const auto * owners : {&info_.joints, &info_.gpios})
      for (const auto & owner : *owners)
        for (const auto & each : owner.state_interfaces)
          all.emplace_back(owner.name, each.name, &states_[owner.name + "/" + each.name]);
    return all;
  }
  std::vector<hardware_interface::CommandInterface> export_command_interfaces() override {
    std::vector<hardware_interface::CommandInterface> all;
    for (const auto * owners : {&info_.joints, &info_.gpios})
      for (const auto & owner : *owners)
        for (const auto & each : owner.command_interfaces) {
          double & command = commands_[owner.name + "/" + each.name] = NAN;
          all.emplace_back(owner.name, each.name, &command);
        }
    return all;
  }
  void give(const std::string & name, double value) override { states_[name] = value; }
  double get(const std::string & name) override { return commands_[name]; }
};

PLUGINLIB_EXPORT_CLASS(Motors, hardware_interface::SystemInterface)
PLUGINLIB_EXPORT_CLASS(OldMotors, hardware_interface::SystemInterface)
