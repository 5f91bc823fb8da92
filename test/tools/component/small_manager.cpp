// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// A manager without ROS, cycle by cycle: a line of standard input is a command, a line of standard
// output its answer. Its commands, and what it calls in which order, are those of manager.cpp.
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "hardware_interface/component_parser.hpp"
#include "hardware_interface/system_interface.hpp"
#include "motors.hpp"
#include "pluginlib/class_loader.hpp"

using hardware_interface::CommandInterface;
using hardware_interface::FakeComponent;
using hardware_interface::return_type;
using hardware_interface::StateInterface;
using Names = std::vector<std::string>;
using Ids = lifecycle_msgs::msg::State;

// The driver of ros2_control that follows its commands at once.
class GenericSystem : public hardware_interface::SystemInterface {
  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override {
    for (const auto & joint : info_.joints)
      for (const auto & each : joint.state_interfaces) {
        const auto name = joint.name + "/" + each.name;
        set_state(name, std::isnan(get_command(name)) ? 0.0 : get_command(name));
      }
    return return_type::OK;
  }
  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override {
    return return_type::OK;
  }
};

PLUGINLIB_EXPORT_CLASS(GenericSystem, hardware_interface::SystemInterface)

// Writes what a test says.
struct Script {
  Names interfaces;
  std::vector<double> values;
  bool fails = false, writes_nan = false, zeroes = false, is_active = false;
};

static std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return std::isnan(value) ? "NaN" : text;
}

template <typename Write>
static std::string list(const char * brackets, Write write) {
  std::string text(1, brackets[0]);
  write([&](const std::string & each) { text += (text.size() > 1 ? ", " : "") + each; });
  return text + brackets[1];
}

static std::string quoted(const std::string & text) { return '"' + text + '"'; }

template <typename Values>
static std::string json(const Values & values) {
  return list("{}", [&](auto add) {
    for (const auto & [name, value] : values) add(quoted(name) + ": " + value);
  });
}

static std::map<std::string, std::string> texts_of(const std::map<std::string, double> & values) {
  std::map<std::string, std::string> texts;
  for (const auto & [name, value] : values) texts[name] = text_of(value);
  return texts;
}

class Manager {
public:
  Manager(const std::string & urdf, bool is_active) {
    for (const auto & info : hardware_interface::parse_control_resources_from_urdf(urdf)) {
      pluginlib::ClassLoader<hardware_interface::SystemInterface> loader("", "");
      auto component = std::make_shared<FakeComponent>(
        std::unique_ptr<hardware_interface::SystemInterface>(
          loader.createUnmanagedInstance(info.hardware_plugin_name)));
#if FAKE_HAS_PARAMS
      component->initialize({info, {}, std::make_shared<rclcpp::Clock>(), {}});
#else
      component->initialize(info, {}, std::make_shared<rclcpp::Clock>());
#endif
      if (component->get_lifecycle_state().id() != Ids::PRIMARY_STATE_UNCONFIGURED) {
        is_complete = false;
        continue;
      }
      for (const auto & each : component->export_state_interfaces())
        states_[each->get_name()] = each;
      for (const auto & each : component->export_command_interfaces()) {
        commands_[each->get_name()] = each;
        owners_[each->get_name()] = info.name;
      }
      components_[info.name] = {component, info.is_async, {}};
      set_state(info.name, is_active ? Ids::PRIMARY_STATE_ACTIVE : Ids::PRIMARY_STATE_INACTIVE);
    }
  }

  ~Manager() { wait(); }

  bool set_state(const std::string & name, uint8_t wanted) {
    wait();
    auto & it = *components_.at(name).component;
    const auto id = [&]() { return it.get_lifecycle_state().id(); };
    if (wanted == Ids::PRIMARY_STATE_FINALIZED) it.shutdown();
    if (wanted == Ids::PRIMARY_STATE_UNCONFIGURED && id() == Ids::PRIMARY_STATE_ACTIVE)
      it.deactivate();
    if (wanted == Ids::PRIMARY_STATE_UNCONFIGURED) it.cleanup();
    if (wanted == Ids::PRIMARY_STATE_INACTIVE && id() == Ids::PRIMARY_STATE_ACTIVE)
      it.deactivate();
    const bool rises = wanted == Ids::PRIMARY_STATE_INACTIVE || wanted == Ids::PRIMARY_STATE_ACTIVE;
    if (rises && id() == Ids::PRIMARY_STATE_UNCONFIGURED) it.configure();
    if (wanted == Ids::PRIMARY_STATE_ACTIVE && id() == Ids::PRIMARY_STATE_INACTIVE) it.activate();
    return id() == wanted;
  }

  bool switch_scripts(const Names & start, const Names & stop) {
    const Names starts = interfaces_of(start), stops = interfaces_of(stop);
    if (!call(&FakeComponent::prepare_command_mode_switch, starts, stops)) return false;
    bool is_done = false;
    cycle([&]() {
      is_done = call(&FakeComponent::perform_command_mode_switch, starts, stops);
      if (!is_done && FAKE_HAS_PARAMS) return;  // old versions go on
      for (const auto & name : stop) deactivate(scripts.at(name));
      for (const auto & name : start) {
        auto & script = scripts.at(name);
        script.is_active = true;
        std::fill(script.values.begin(), script.values.end(), NAN);
      }
    });
    return is_done;
  }

  template <typename Switch>
  void cycle(Switch act) {
    const auto begin = std::chrono::steady_clock::now();
    wait();
    for (auto & [name, each] : components_) {
      if (!each.is_async) {
        react(name, each.component->read({}, period));
      } else {
        auto & it = *each.component;
        each.thread = std::thread([&]() {
          it.read({}, period);
          it.write({}, period);
        });
      }
    }
    act();
    update();
    for (auto & [name, each] : components_)
      if (!each.is_async) react(name, each.component->write({}, period));
    times.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  std::map<std::string, double> read_states() const {
    std::map<std::string, double> values;
    for (const auto & [name, handle] : states_) values[name] = *handle->get_optional();
    return values;
  }

  std::map<std::string, std::string> read_components() const {
    std::map<std::string, std::string> found;
    for (const auto & [name, each] : components_)
      found[name] = quoted(each.component->get_lifecycle_state().label());
    return found;
  }

  std::map<std::string, Script> scripts;
  std::map<std::string, CommandInterface::SharedPtr> commands_;
  std::vector<double> times;
  bool is_complete = true;
  rclcpp::Duration period = rclcpp::Duration::from_seconds(0.01);

private:
  struct Part {
    std::shared_ptr<FakeComponent> component;
    bool is_async;
    std::thread thread;
  };

  void wait() {
    for (auto & [name, each] : components_)
      if (each.thread.joinable()) each.thread.join();
  }

  Names interfaces_of(const Names & names) const {
    Names all;
    for (const auto & name : names)
      for (const auto & each : scripts.at(name).interfaces) all.push_back(each);
    return all;
  }

  bool call(return_type (FakeComponent::*switches)(const Names &, const Names &),
            const Names & start, const Names & stop) {
    bool is_done = true;
    for (auto & [name, each] : components_) {
      const auto own = [&, &owner = name](const Names & names) {
        Names found;
        for (const auto & one : names)
          if (owners_.at(one) == owner || !FAKE_HAS_PARAMS) found.push_back(one);
        return found;
      };
      if (!own(start).empty() || !own(stop).empty())
        is_done = ((*each.component).*switches)(own(start), own(stop)) == return_type::OK && is_done;
    }
    return is_done;
  }

  // As the controllers of efforts and velocities, a script may write zeros at its end.
  void deactivate(Script & script) {
    for (const auto & name : script.interfaces)
      if (script.zeroes) (void)commands_.at(name)->set_value(0.0);
    script.is_active = false;
  }

  void update() {
    for (auto & [name, script] : scripts) {
      if (!script.is_active) continue;
      for (std::size_t k = 0; k < script.values.size(); k++)
        if (!std::isnan(script.values[k]) || script.writes_nan)
          (void)commands_.at(script.interfaces[k])->set_value(script.values[k]);
      if (!script.fails) continue;
      const Names stops = interfaces_of({name});
      call(&FakeComponent::prepare_command_mode_switch, {}, stops);
      call(&FakeComponent::perform_command_mode_switch, {}, stops);
      deactivate(script);
    }
  }

  void react(const std::string & name, return_type result) {
    if (result == return_type::OK) return;
    if (result == return_type::DEACTIVATE) components_.at(name).component->deactivate();
    for (auto & [other, script] : scripts)
      for (const auto & each : script.interfaces)
        if (script.is_active && owners_.at(each) == name) script.is_active = false;
  }

  std::map<std::string, Part> components_;
  std::map<std::string, StateInterface::ConstSharedPtr> states_;
  std::map<std::string, std::string> owners_;  // of command interfaces
};

static Names words_of(std::istringstream & words) {
  Names found;
  for (std::string each; words >> each;) found.push_back(each);
  return found;
}

static std::string run(const std::string & command, std::istringstream & words,
                       std::unique_ptr<Manager> & manager) {
  const auto none = []() {};
  std::string name, text;
  if (command == "start") {
    words >> name >> text;
    std::stringstream urdf;
    urdf << std::ifstream(name).rdbuf();
    manager = std::make_unique<Manager>(urdf.str(), text == "active");
    return manager->is_complete ? "ok" : "failed";
  }
  if (command == "times") {
    text = list("[]", [&](auto add) {
      for (const double each : manager->times) add(text_of(each));
    });
    manager->times.clear();
    return text;
  }
  if (command == "states") return json(texts_of(manager->read_states()));
  if (command == "components") return json(manager->read_components());
  if (command == "controllers") {
    std::map<std::string, std::string> found;
    for (const auto & [each, script] : manager->scripts)
      found[each] = quoted(script.is_active ? "active" : "inactive");
    return json(found);
  }
  if (command == "motors") return json(texts_of(world.commands));
  if (command == "parameters") {
    auto found = world.parameters;
    for (auto & each : found) each.second = quoted(each.second);
    return json(found);
  }
  if (command == "calls") {
    text = list("[]", [&](auto add) {
      for (const auto & each : world.calls) add(quoted(each));
    });
    world.calls.clear();
    return text;
  }
  if (command == "switch") {
    Names start, stop;
    for (const auto & each : words_of(words))
      (each[0] == '+' ? start : stop).push_back(each.substr(1));
    return manager->switch_scripts(start, stop) ? "ok" : "refused";
  }
  words >> name;
  if (command == "add") {
    const Names interfaces = words_of(words);
    manager->scripts[name] = {interfaces, std::vector<double>(interfaces.size(), NAN)};
    return "0";
  }
  if (command == "component") {
    words >> text;
    const bool is_done = manager->set_state(name, text == "active"         ? 3
                                                  : text == "inactive"     ? 2
                                                  : text == "unconfigured" ? 1
                                                                           : 4);
    return is_done ? "ok" : "failed";
  }
  if (command == "set") {
    for (auto & each : manager->scripts.at(name).values) {
      words >> text;
      each = std::stod(text);
    }
  } else if (command == "nan") {
    manager->scripts.at(name).writes_nan = true;
  } else if (command == "zeros") {
    manager->scripts.at(name).zeroes = true;
  } else if (command == "fail") {
    manager->scripts.at(name).fails = true;
  } else if (command == "cycle") {
    for (int k = 0; k < std::stoi(name); k++) manager->cycle(none);
  } else if (command == "wait") {
    for (int k = 0; k < 100 * std::stod(name); k++) {
      manager->cycle(none);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } else if (command == "rate") {
    words >> text;
    auto due = std::chrono::steady_clock::now();
    manager->period = rclcpp::Duration::from_seconds(1.0 / std::stod(text));
    for (int k = 0; k < std::stoi(name); k++) {
      manager->cycle(none);
      due += std::chrono::microseconds(1'000'000 / std::stoi(text));
      std::this_thread::sleep_until(due);
    }
  } else if (command == "measure") {
    words >> text;
    world.states[name] = std::stod(text);
  } else if (command == "forget") {
    world.calls.clear();
    for (auto & each : world.commands) each.second = NAN;
  } else if (command == "lock") {  // how often the next values of a handle cannot be set
    words >> text;
    hardware_interface::locked()[name] = std::stoi(text);
  } else if (command == "fault") {
    world.fault = name;
  } else {
    return "unknown command";
  }
  return "ok";
}

int main() {
  std::unique_ptr<Manager> manager;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, answer;
    words >> command;
    try {
      if (command == "shutdown") {  // as at Ctrl-C
        for (const auto & [name, state] : manager->read_components()) manager->set_state(name, 4);
        answer = "ok";
      } else if (command == "forget") {
        world.calls.clear();
        for (auto & each : world.commands) each.second = NAN;
        answer = "ok";
      } else if (command == "zero_periods") {
        answer = std::to_string(world.zero_periods);
      } else {
        answer = run(command, words, manager);
      }
    } catch (const std::exception & error) { answer = std::string("exception ") + error.what(); }
    std::cout << "> " << answer << std::endl;
  }
}
