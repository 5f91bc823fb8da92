// SPDX-License-Identifier: Apache-2.0
//
// Transmissions of ROBOT for the plugin loader of ros2_control.
// Written by transmission_bridge compile. See README.md.
#include "NAME.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <locale>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "hardware_interface/hardware_info.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "transmission_interface/accessor.hpp"
#include "transmission_interface/exception.hpp"
#include "transmission_interface/transmission_loader.hpp"

namespace NAME_plugin
{
using hardware_interface::TransmissionInfo;
using transmission_interface::Transmission;
using Names = std::vector<std::string>;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// The interfaces of each row of the map. Torque and force are other names of effort.
static const std::array<Names, 3> rows_of_map = {
  Names{"position"}, Names{"velocity"}, Names{"effort", "torque", "force"}};

// A joint or an actuator. Its index is that in the rows of the map.
struct Member
{
  std::string name;
  int index;
  bool is_output;  // an actuator of several transmissions is the output of one
};

struct Description
{
  std::string name;
  bool needs_positions;
  std::size_t n_joints;  // in the element of the transmission; passive joints follow
  std::vector<Member> joints, actuators;
  std::multiset<std::string> facts;
};

static const std::vector<Description> descriptions = {
@TRANSMISSIONS@
};

static void require(
  bool is_met, const std::string & place, const std::string & expected, const std::string & found)
{
  if (!is_met) {
    throw transmission_interface::Exception(place + ": expected " + expected + ", found " + found);
  }
}

// A handle of a member for a row.
struct Wire
{
  transmission_interface::Handle handle;
  const Member * member;
  std::size_t row;
};

// Without `override`: some of these functions are new in ros2_control. The class stays abstract,
// and cannot be built, without one that has to be there.
class MappedTransmission : public Transmission
{
public:
  explicit MappedTransmission(const Description & description) : description_(description)
  {
    NAME_init(&state_);
    std::fill(measured_, measured_ + NAME_JOINTS, unknown);
  }

  void configure(
    const std::vector<transmission_interface::JointHandle> & joints,
    const std::vector<transmission_interface::ActuatorHandle> & actuators)
  {
    std::fill(is_mapped_, is_mapped_ + 3, true);
    wire(joints_, joints, description_.joints, num_joints());
    wire(actuators_, actuators, description_.actuators, num_actuators());
    const bool maps_other = !description_.needs_positions && (is_mapped_[1] || is_mapped_[2]);
    const std::string expected = description_.needs_positions ? "position" : "one interface";
    require(
      is_mapped_[0] || maps_other, place_, expected + " of all joints and all actuators",
      get_handles_info());
  }

  void actuator_to_joint()
  {
    double actuator[3][NAME_ACTUATORS], joint[3][NAME_JOINTS];
    read(actuators_, actuator);
    NAME_to_joint(&state_, actuator, joint);
    std::copy(joint[0], joint[0] + NAME_JOINTS, measured_);
    write(joint, joints_);
  }

  void joint_to_actuator()
  {
    double actuator[3][NAME_ACTUATORS], joint[3][NAME_JOINTS];
    read(joints_, joint);
    NAME_to_actuator(&state_, joint, measured_, actuator);
    write(actuator, actuators_);
  }

  std::size_t num_actuators() const { return description_.actuators.size(); }

  std::size_t num_joints() const { return description_.n_joints; }

  Names get_supported_joint_interfaces() const
  {
    return {"position", "velocity", "effort", "torque", "force"};
  }

  Names get_supported_actuator_interfaces() const { return get_supported_joint_interfaces(); }

  std::string get_handles_info() const
  {
    Names names;
    for (const auto * wires : {&joints_, &actuators_}) {
      for (const auto & wire : *wires) {
        names.push_back(wire.handle.get_name());
      }
    }
    return transmission_interface::to_string(names);
  }

private:
  template <typename Handle>
  void wire(
    std::vector<Wire> & wires, const std::vector<Handle> & handles,
    const std::vector<Member> & members, std::size_t n_own)
  {
    wires.clear();
    for (std::size_t row = 0; row < 3; row++) {
      std::size_t n_wired = 0;
      for (std::size_t k = 0; k < members.size(); k++) {
        const auto before = wires.size();
        for (const auto & interface : rows_of_map[row]) {
          for (const auto & handle :
               transmission_interface::get_ordered_handles(handles, {members[k].name}, interface)) {
            wires.push_back({handle, &members[k], row});
          }
        }
        n_wired += k < n_own && wires.size() > before;
      }
      require(
        n_wired == 0 || n_wired == n_own, place_,
        rows_of_map[row][0] + " of all joints or none, and of all actuators or none",
        get_handles_info());
      is_mapped_[row] = is_mapped_[row] && n_wired > 0;
    }
  }

  // The first known value counts.
  template <std::size_t N>
  static void read(const std::vector<Wire> & wires, double (&rows)[3][N])
  {
    std::fill(rows[0], rows[0] + 3 * N, unknown);
    for (const auto & wire : wires) {
      double & value = rows[wire.row][wire.member->index];
      value = std::isnan(value) ? wire.handle.get_value() : value;
    }
  }

  // As in ros2_control, an interface that lacks handles on one side keeps its values.
  template <std::size_t N>
  void write(const double (&rows)[3][N], std::vector<Wire> & wires) const
  {
    for (auto & wire : wires) {
      if (wire.member->is_output && is_mapped_[wire.row]) {
        wire.handle.set_value(rows[wire.row][wire.member->index]);
      }
    }
  }

  const Description & description_;
  const std::string place_ = "transmission '" + description_.name + "'";
  NAME_state state_;
  double measured_[NAME_JOINTS];  // by the last actuator_to_joint()
  std::vector<Wire> joints_, actuators_;
  bool is_mapped_[3] = {};
};

// Return what a loader can compare: a text for the type and each joint, actuator and parameter.
static std::multiset<std::string> list_facts(const TransmissionInfo & info)
{
  std::multiset<std::string> facts = {"plugin " + info.type};
  const auto add_members = [&facts](const std::string & side, const auto & members) {
    for (const auto & each : members) {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text.precision(17);
      text << side << " '" << each.name << "', role " << each.role << ", mechanical_reduction "
           << each.mechanical_reduction << ", offset " << each.offset;
      facts.insert(text.str());
    }
  };
  add_members("joint", info.joints);
  add_members("actuator", info.actuators);
  for (const auto & [name, value] : info.parameters) {
    // Some hardware components add parameters of their own, with two underscores.
    if (name.rfind("__", 0) != 0) {
      facts.insert("parameter '" + name + "', " + value);
    }
  }
  return facts;
}

static std::string subtract(
  const std::multiset<std::string> & facts, const std::multiset<std::string> & others)
{
  Names names;
  std::set_difference(
    facts.begin(), facts.end(), others.begin(), others.end(), std::back_inserter(names));
  return names.empty() ? "nothing else" : transmission_interface::to_string(names);
}

class Loader : public transmission_interface::TransmissionLoader
{
public:
  std::shared_ptr<Transmission> load(const TransmissionInfo & info)
  {
    const auto each = std::find_if(
      descriptions.begin(), descriptions.end(),
      [&](const Description & each) { return each.name == info.name; });
    const std::string place = "transmission '" + info.name + "' (compiled in package NAME)";
    require(each != descriptions.end(), place, @EXPECTED@, "this name");
    const auto facts = list_facts(info);
    require(
      facts == each->facts, place, subtract(each->facts, facts), subtract(facts, each->facts));
    return std::make_shared<MappedTransmission>(*each);
  }
};

}  // namespace NAME_plugin

PLUGINLIB_EXPORT_CLASS(NAME_plugin::Loader, transmission_interface::TransmissionLoader)
