// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// The controller manager, cycle by cycle: a line of standard input is a command, a line of
// standard output its answer.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>

#include "controller_manager/controller_manager.hpp"
#include "motors.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

using controller_interface::CallbackReturn;
using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using Names = std::vector<std::string>;

// Writes what a test says.
class Script : public controller_interface::ControllerInterface {
public:
  explicit Script(Names names) : names_(std::move(names)), values(names_.size(), NAN) {}
  CallbackReturn on_init() override { return CallbackReturn::SUCCESS; }
  InterfaceConfiguration command_interface_configuration() const override {
    return {interface_configuration_type::INDIVIDUAL, names_};
  }
  InterfaceConfiguration state_interface_configuration() const override {
    return {interface_configuration_type::NONE, {}};
  }
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
    return CallbackReturn::SUCCESS;
  }
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
    std::fill(values.begin(), values.end(), NAN);
    return CallbackReturn::SUCCESS;
  }
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override {
    return CallbackReturn::SUCCESS;
  }
  controller_interface::return_type update(const rclcpp::Time &,
                                           const rclcpp::Duration &) override {
    for (std::size_t k = 0; k < values.size(); k++)
      if (!std::isnan(values[k]) || writes_nan) (void)command_interfaces_[k].set_value(values[k]);
    return fails ? controller_interface::return_type::ERROR
                 : controller_interface::return_type::OK;
  }

private:
  Names names_;

public:
  std::vector<double> values;
  bool fails = false, writes_nan = false;
};

class Manager : public controller_manager::ControllerManager {
public:
  using ControllerManager::ControllerManager;
  hardware_interface::ResourceManager & resources() { return *resource_manager_; }
};

static std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return std::isnan(value) ? "NaN" : text;
}

static std::string json(const std::map<std::string, double> & values) {
  std::string text = "{";
  for (const auto & [name, value] : values)
    text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + text_of(value);
  return text + "}";
}

int main(int argc, char ** argv) {
  rclcpp::init(argc, argv);
  auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  std::shared_ptr<Manager> manager;
  std::map<std::string, std::shared_ptr<Script>> scripts;
  std::map<std::string, hardware_interface::LoanedStateInterface> states;
  rclcpp::Time now(1, 0, RCL_ROS_TIME);
  const auto period = rclcpp::Duration::from_seconds(0.01);
  std::vector<double> times;
  std::map<std::string, double> joints;  // of the last message on joint_states
  auto listener = rclcpp::Node::make_shared("listener");
  executor->add_node(listener);
  const auto of_joints = listener->create_subscription<sensor_msgs::msg::JointState>(
    "joint_states", 10, [&](const sensor_msgs::msg::JointState & message) {
      for (std::size_t k = 0; k < message.name.size(); k++)
        joints[message.name[k]] = message.position[k];
    });
  std::map<std::string, rclcpp::PublisherBase::SharedPtr> publishers;
  const auto publish = [&](const std::string & topic, const auto & message) {
    using Publisher = rclcpp::Publisher<std::decay_t<decltype(message)>>;
    auto & publisher = publishers[topic];
    if (!publisher)
      publisher = listener->create_publisher<std::decay_t<decltype(message)>>(topic, 10);
    std::static_pointer_cast<Publisher>(publisher)->publish(message);
  };
  const auto cycle = [&]() {
    now = manager->get_trigger_clock()->now();
    const auto begin = std::chrono::steady_clock::now();
    manager->read(now, period);
    manager->update(now, period);
    manager->write(now, period);
    times.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  };
  // The manager waits for cycles while its controllers change.
  const auto beside_cycles = [&](auto act) {
    auto done = std::async(std::launch::async, act);
    while (done.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) cycle();
    return done.get();
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name;
    words >> command;
    std::string answer = "ok";
    try {
      if (command == "start") {
        std::string path, active;
        words >> path >> active;
        std::ifstream file(path);
        std::stringstream urdf;
        urdf << file.rdbuf();
        manager = std::make_shared<Manager>(executor, urdf.str(), active == "active");
        answer = manager->is_resource_manager_initialized() ? "ok" : "failed";
      } else if (command == "add") {
        Names names;
        words >> name;
        for (std::string each; words >> each;) names.push_back(each);
        scripts[name] = std::make_shared<Script>(names);
        answer = std::to_string(beside_cycles([&]() {
          manager->add_controller(scripts[name], name, "script");
          return static_cast<int>(manager->configure_controller(name));
        }));
      } else if (command == "load") {
        words >> name;
        std::string type;
        words >> type;
        answer = std::to_string(beside_cycles([&]() {
          const bool is_loaded = manager->load_controller(name, type) != nullptr;
          return is_loaded ? static_cast<int>(manager->configure_controller(name)) : -1;
        }));
      } else if (command == "switch") {
        Names start, stop;
        for (std::string each; words >> each;)
          (each[0] == '+' ? start : stop).push_back(each.substr(1));
        const auto result = beside_cycles([&]() {
          return manager->switch_controller(
            start, stop, controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
            rclcpp::Duration::from_seconds(5.0));
        });
        answer = result == controller_interface::return_type::OK ? "ok" : "refused";
      } else if (command == "set") {
        words >> name;
        for (auto & each : scripts.at(name)->values) {
          std::string word;
          words >> word;
          each = std::stod(word);
        }
      } else if (command == "nan") {
        words >> name;
        scripts.at(name)->writes_nan = true;
      } else if (command == "fail") {
        words >> name;
        scripts.at(name)->fails = true;
      } else if (command == "cycle") {
        int n = 1;
        words >> n;
        for (int k = 0; k < n; k++) {
          cycle();
          executor->spin_some();
        }
      } else if (command == "wait") {
        // Cycles at 100 Hz, which controllers with trajectories and other threads need.
        double seconds;
        words >> seconds;
        for (int k = 0; k < 100 * seconds; k++) {
          cycle();
          executor->spin_some();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      } else if (command == "rate") {
        int n, hertz;
        words >> n >> hertz;
        auto due = std::chrono::steady_clock::now();
        for (int k = 0; k < n; k++) {
          cycle();
          due += std::chrono::microseconds(1'000'000 / hertz);
          std::this_thread::sleep_until(due);
        }
      } else if (command == "publish") {
        std_msgs::msg::Float64MultiArray message;
        words >> name;
        for (double each; words >> each;) message.data.push_back(each);
        publish(name, message);
      } else if (command == "trajectory") {
        trajectory_msgs::msg::JointTrajectory message;
        message.points.resize(1);
        message.points[0].time_from_start = rclcpp::Duration::from_seconds(0.2);
        words >> name;
        std::string joint;
        for (double each; words >> joint >> each;) {
          message.joint_names.push_back(joint);
          message.points[0].positions.push_back(each);
        }
        publish(name, message);
      } else if (command == "joint_states") {
        answer = json(joints);
      } else if (command == "times") {
        answer = "[";
        for (const double each : times) answer += (answer.size() > 1 ? ", " : "") + text_of(each);
        answer += "]";
        times.clear();
      } else if (command == "component") {
        std::string state;
        words >> name >> state;
        rclcpp_lifecycle::State wanted(state == "active"         ? 3
                                       : state == "inactive"     ? 2
                                       : state == "unconfigured" ? 1
                                                                 : 4,
                                       state);
        const auto result = manager->resources().set_component_state(name, wanted);
        answer = result == hardware_interface::return_type::OK ? "ok" : "failed";
      } else if (command == "components") {
        answer = "{";
        for (const auto & [each, info] : manager->resources().get_components_status())
          answer +=
            (answer.size() > 1 ? ", \"" : "\"") + each + "\": \"" + info.state.label() + "\"";
        answer += "}";
      } else if (command == "controllers") {
        answer = "{";
        for (const auto & each : manager->get_loaded_controllers())
          answer += (answer.size() > 1 ? ", \"" : "\"") + each.info.name + "\": \"" +
                    each.c->get_lifecycle_state().label() + "\"";
        answer += "}";
      } else if (command == "states") {
        std::map<std::string, double> values;
        for (const auto & each : manager->resources().available_state_interfaces()) {
          if (!states.count(each))
            states.emplace(each, manager->resources().claim_state_interface(each));
          values[each] = states.at(each).get_optional().value_or(NAN);
        }
        answer = json(values);
      } else if (command == "interfaces") {
        answer = "[";
        for (const auto & each : manager->resources().command_interface_keys())
          answer += (answer.size() > 1 ? ", \"" : "\"") + each + "\"";
        answer += "]";
      } else if (command == "measure") {
        std::string word;
        words >> name >> word;
        world.states[name] = std::stod(word);
      } else if (command == "motors") {
        answer = json(world.commands);
      } else if (command == "forget") {
        world.calls.clear();
        for (auto & each : world.commands) each.second = NAN;
      } else if (command == "calls") {
        answer = "[";
        for (const auto & each : world.calls)
          answer += (answer.size() > 1 ? ", \"" : "\"") + each + "\"";
        answer += "]";
        world.calls.clear();
      } else if (command == "parameters") {
        answer = "{";
        for (const auto & [each, value] : world.parameters)
          answer += (answer.size() > 1 ? ", \"" : "\"") + each + "\": \"" + value + "\"";
        answer += "}";
      } else if (command == "shutdown") {  // what rclcpp does at Ctrl-C
        beside_cycles([]() { return rclcpp::shutdown(); });
      } else if (command == "fault") {
        words >> world.fault;
      } else {
        answer = "unknown command";
      }
    } catch (const std::exception & error) { answer = std::string("exception ") + error.what(); }
    std::cout << "> " << answer << std::endl;
  }
  states.clear();
  publishers.clear();
  scripts.clear();
  manager.reset();
  rclcpp::shutdown();
}
