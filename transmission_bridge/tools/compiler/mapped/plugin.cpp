// SPDX-License-Identifier: Apache-2.0
//
// Transmissions of a robot for hardware components that load them.
#include <array>
#include <memory>

#include "hardware_interface/hardware_info.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "transmission_interface/accessor.hpp"
#include "transmission_interface/exception.hpp"
#include "transmission_interface/transmission_loader.hpp"
#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {
using hardware_interface::TransmissionInfo;
using Base = transmission_interface::Transmission;

constexpr auto expect = require<transmission_interface::Exception>;

// A handle of a member for a row.
struct Wire {
  transmission_interface::Handle handle;
  int index, row;
  bool is_output = true;  // an actuator of several transmissions is the output of one
};

static std::string list_handles(const std::vector<Wire> & wires) {
  Names names;
  for (const auto & wire : wires) names.push_back(wire.handle.get_name());
  return transmission_interface::to_string(names);
}

// Without `override`: some of these functions are new in ros2_control. The class stays abstract,
// and cannot be built, without one that has to be there.
class MappedTransmission : public Base {
public:
  explicit MappedTransmission(const Loadable & loadable) : loadable_(loadable) {
    init_state(&state_);
    std::fill(measured_, measured_ + n_joints, unknown);
  }

  void configure(const std::vector<transmission_interface::JointHandle> & joints,
                 const std::vector<transmission_interface::ActuatorHandle> & actuators) {
    is_mapped_ = {true, true, true};
    joints_ = wire(joints, members_.joints, loadable_.joints);
    actuators_ = wire(actuators, members_.actuators, loadable_.actuators);
    for (auto & each : actuators_) each.is_output = contains(members_.owned, each.index);
    for (const int j : loadable_.passive)
      for (const auto & handle : joints)
        if (const int row = find_row(handle.get_interface_name());
            handle && row >= 0 && handle.get_prefix_name() == joint_names[j])
          joints_.push_back({handle, j, row});
    const bool needs_positions = loadable_.needs_positions;
    expect(
      is_mapped_[position] || (!needs_positions && (is_mapped_[velocity] || is_mapped_[effort])),
      place_,
      std::string(needs_positions ? "position" : "one interface") +
        " of all joints and all actuators",
      get_handles_info());
  }

  void actuator_to_joint() {
    double actuator[n_rows][n_actuators], joint[n_rows][n_joints];
    read(actuators_, actuator);
    to_joint(&state_, actuator, joint);
    std::copy(joint[position], joint[position] + n_joints, measured_);
    write(joint, joints_);
  }

  void joint_to_actuator() {
    double actuator[n_rows][n_actuators], joint[n_rows][n_joints];
    read(joints_, joint);
    to_actuator(&state_, joint, measured_, actuator);
    write(actuator, actuators_);
  }

  std::size_t num_actuators() const { return members_.actuators.size(); }

  std::size_t num_joints() const { return members_.joints.size(); }

  Names get_supported_joint_interfaces() const {
    return {"position", "velocity", "effort", "torque", "force"};
  }

  Names get_supported_actuator_interfaces() const { return get_supported_joint_interfaces(); }

  std::string get_handles_info() const {
    return "joints " + list_handles(joints_) + ", actuators " + list_handles(actuators_);
  }

private:
  // An interface has handles of all members of a side or of none.
  template <typename Handle>
  std::vector<Wire> wire(const std::vector<Handle> & handles, const std::vector<int> & members,
                         const Names & names) {
    std::vector<Wire> wires;
    for (int row = 0; row < n_rows; row++) {
      std::size_t n_wired = 0;
      for (std::size_t k = 0; k < members.size(); k++) {
        const auto before = wires.size();
        for (const auto & handle : handles)
          if (handle && handle.get_prefix_name() == names[k] &&
              find_row(handle.get_interface_name()) == row)
            wires.push_back({handle, members[k], row});
        n_wired += wires.size() > before;
      }
      expect(n_wired == 0 || n_wired == members.size(), place_,
             std::string(row_names[row]) + " of all joints or none, and of all actuators or none",
             list_handles(wires));
      is_mapped_[row] = is_mapped_[row] && n_wired > 0;
    }
    return wires;
  }

  // The first known value counts.
  template <int N>
  static void read(const std::vector<Wire> & wires, double (&rows)[n_rows][N]) {
    for (auto & row : rows) std::fill(row, row + N, unknown);
    for (const auto & wire : wires) {
      double & value = rows[wire.row][wire.index];
      value = std::isnan(value) ? wire.handle.get_value() : value;
    }
  }

  // As in ros2_control, an interface that lacks handles on one side keeps its values.
  template <int N>
  void write(const double (&rows)[n_rows][N], std::vector<Wire> & wires) const {
    for (auto & wire : wires)
      if (wire.is_output && is_mapped_[wire.row])
        wire.handle.set_value(rows[wire.row][wire.index]);
  }

  const Loadable & loadable_;
  const MAPPED_NAMESPACE::Transmission & members_ = transmissions[loadable_.transmission];
  const std::string place_ = "transmission " + quote(members_.name);
  State state_;
  double measured_[n_joints];  // by the last actuator_to_joint()
  std::vector<Wire> joints_, actuators_;
  std::array<bool, n_rows> is_mapped_ = {};
};

// What decides the map of a transmission, by its place.
inline Texts describe(const TransmissionInfo & info) {
  Texts texts = {{"plugin", info.type}};
  const auto add = [&](const std::string & side, const auto & ends) {
    texts[side + "s"] = std::to_string(ends.size());
    for (const auto & end : ends) {
      const std::string place = side + " " + quote(end.name) + ", ";
      texts[place + "role"] = end.role;
      texts[place + "mechanical_reduction"] = write(end.mechanical_reduction);
      texts[place + "offset"] = write(end.offset);
    }
  };
  add("joint", info.joints);
  add("actuator", info.actuators);
  // Some hardware components add parameters of their own, with two underscores.
  for (const auto & [name, value] : info.parameters)
    if (name.rfind("__", 0) != 0) texts["parameter " + quote(name)] = value;
  return texts;
}

class Loader : public transmission_interface::TransmissionLoader {
public:
  std::shared_ptr<Base> load(const TransmissionInfo & info) {
    const std::string origin = std::string(" (compiled in package ") + package + ")";
    std::string names;
    for (const auto & loadable : loadables) {
      const auto & name = transmissions[loadable.transmission].name;
      names += (names.empty() ? "one of " : ", ") + name;
      if (name != info.name) continue;
      Texts before = loadable.texts, now = describe(info), all = before;
      all.insert(now.begin(), now.end());
      for (const auto & [what, text] : all)
        expect(is_same(before[what], now[what]),
               "transmission " + quote(name) + origin + ", " + what, quote(before[what]),
               quote(now[what]));
      return std::make_shared<MappedTransmission>(loadable);
    }
    expect(false, "transmission" + origin, names, info.name);
    return nullptr;
  }
};

}  // namespace MAPPED_NAMESPACE

PLUGINLIB_EXPORT_CLASS(MAPPED_NAMESPACE::Loader, transmission_interface::TransmissionLoader)
