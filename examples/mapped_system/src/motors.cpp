// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// A driver of motors: it knows no joint. Replace the simulated motion with your bus.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace mapped_system
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class Motors : public hardware_interface::SystemInterface
{
public:
  // Each joint of its description is a motor, with the <param> of its <actuator>.
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    motors_.clear();
    for (const auto & motor : info_.joints) {
      const auto id = motor.parameters.find("id");
      if (id == motor.parameters.end()) {
        RCLCPP_ERROR(get_logger(), "motor '%s' has no <param name=\"id\">", motor.name.c_str());
        return CallbackReturn::FAILURE;
      }
      motors_.push_back({motor.name + "/position", motor.name + "/velocity", std::stoi(id->second)});
      set_state(motors_.back().position, 0.0);
      set_state(motors_.back().velocity, 0.0);
    }
    return CallbackReturn::SUCCESS;
  }

  // A motor keeps its position until the first command.
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    for (const auto & motor : motors_) {
      set_command(motor.position, get_state(motor.position));
    }
    return CallbackReturn::SUCCESS;
  }

  // Measure. These motors approach their goals at 20 rad/s.
  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    for (auto & motor : motors_) {
      const double now = get_state(motor.position), step = 20.0 * period.seconds();
      const double way = std::isnan(motor.goal) ? 0.0 : motor.goal - now;
      const double moved = std::clamp(way, -step, step);
      set_state(motor.position, now + moved);
      set_state(motor.velocity, step > 0.0 ? moved / period.seconds() : 0.0);
    }
    return return_type::OK;
  }

  // Send.
  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (auto & motor : motors_) {
      motor.goal = get_command(motor.position);
    }
    return return_type::OK;
  }

private:
  struct Motor
  {
    std::string position, velocity;  // names of its interfaces
    int id;                          // on the bus
    double goal = std::nan("");
  };

  std::vector<Motor> motors_;
};

}  // namespace mapped_system

PLUGINLIB_EXPORT_CLASS(mapped_system::Motors, hardware_interface::SystemInterface)
