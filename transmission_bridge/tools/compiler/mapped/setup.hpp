// SPDX-License-Identifier: Apache-2.0
//
// What a component is built from: its description is compared with what was compiled, and its
// parameters are read. Errors are exceptions that give place, expectation and finding. A
// description has the members of ros2_control's HardwareInfo.
#pragma once

#include <tinyxml2.h>

#include <array>
#include <iterator>
#include <sstream>

#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {

template <std::size_t N>
int find_name(const char * const (&names)[N], int count, const std::string & name) {
  for (int k = 0; k < count; k++)
    if (name == names[k]) return k;
  return -1;
}

// The transmission that commands a joint, else -1.
inline int find_transmission(const std::string & joint) {
  const int j = find_name(joint_names, n_joints, joint);
  return j < 0 ? -1 : joint_owners[j];
}

// The actuator with the role of a joint, empty without one.
inline std::string find_actuator(const std::string & joint) {
  const int j = find_name(joint_names, n_joints, joint);
  return j < 0 || joint_actuators[j] < 0 ? "" : actuator_names[joint_actuators[j]];
}

struct Limits {
  double values[n_sides] = {-infinite, infinite, infinite, infinite};

  double low(int row) const { return row == position ? values[lower] : -values[row + 1]; }
  double high(int row) const { return values[row == position ? upper : row + 1]; }
  void check(const std::string & place) const {
    for (int row = 0; row < n_rows; row++)
      require(low(row) <= high(row), place,
              std::string("a lower ") + row_names[row] + " limit that is not above the upper one",
              write(low(row)) + " and " + write(high(row)));
  }
};

// A joint that only follows and keeps its limits: by <mimic>, or moved by fewer motors than
// joints.
struct Follower {
  int transmission;  // that moves it, -1 for none of this component
  std::string name;
  int joint;  // that it follows
  double multiplier, offset;
  Limits limits;
};

// Places of words in the list of a parameter, the first one is usual.
inline constexpr double reject = 1.0, off = 2.0;

struct Options {
  double is_dry, zero_effort, ends_by_error, limits, max_step, hold_timeout, zero_max_velocity;
};

// A parameter of the component: one of some words, or a number from zero on. The first word is
// the default.
struct Parameter {
  const char * name;
  double Options::* value;  // the number, or the place of the word
  Names words;
};

inline const std::vector<Parameter> parameters = {
  {"dry_run", &Options::is_dry, {"false", "true"}},
  {"limits", &Options::limits, {"clamp", "reject", "off"}},
  {"max_step", &Options::max_step, {"warn", "reject", "off"}},
  {"zero_effort", &Options::zero_effort, {"false", "true"}},
  {"after_hold", &Options::ends_by_error, {"deactivate", "error"}},
  {"hold_timeout", &Options::hold_timeout, {"0.5"}},
  {"zero_max_velocity", &Options::zero_max_velocity, {"0.01"}},
  {"driver_plugin", nullptr, {""}},
  {"wrap_period", nullptr, {""}},
};

// Of an actuator with a single-turn encoder: its turn, and its positions at the limits of its
// joint, which are less than a turn apart.
struct Turn {
  double period = unknown, low = unknown, high = unknown;
};

struct Setup {
  Options options;
  std::string driver_plugin;
  bool is_async;
  std::vector<int> own;  // transmissions of this component
  std::array<Limits, n_actuators> actuator_limits;
  std::array<Limits, n_joints> joint_limits;
  std::array<Turn, n_actuators> turns;
  std::array<Texts, n_actuators> parameters;  // of the <actuator>, for the driver
  std::vector<Follower> followers;
  State state;

  // Index of a joint; after those of the map, joints that follow by <mimic>; else -1.
  int find_joint(const std::string & name) const {
    const int j = find_name(joint_names, n_joints, name);
    for (std::size_t k = 0; j < 0 && k < followers.size(); k++)
      if (followers[k].name == name) return n_joints + static_cast<int>(k);
    return j;
  }
};

// Refuse what differs from what was compiled.
inline void compare(bool is_equal, const std::string & place, const std::string & compiled,
                    const std::string & text) {
  require(is_equal, place, quote(compiled) + " of package " + package,
          quote(text) + "; run 'transmission_bridge compile FILE.urdf --output FOLDER " +
            "--ros2-control --force' with its description and build the package again");
}

inline Names split(const std::string & text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

inline double to_number(const std::string & place, const std::string & word) {
  double value = unknown;
  require(read_number(word, value), place, "a number", quote(word));
  return value;
}

// Whether two words differ at one place, by at most so many letters.
inline bool is_near(const std::string & one, const std::string & other, std::ptrdiff_t most) {
  const auto start = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const auto end = std::mismatch(one.rbegin(), std::make_reverse_iterator(start.first),
                                 other.rbegin(), std::make_reverse_iterator(start.second));
  return one != other &&
         std::max(end.first.base() - start.first, end.second.base() - start.second) <= most;
}

// Collect the texts of elements and attributes by path. A name is part of the path.
inline void collect(const tinyxml2::XMLElement & element, const std::string & path,
                    Texts & texts) {
  std::string text;
  for (auto node = element.FirstChild(); node; node = node->NextSibling())
    if (node->ToText()) text += (text.empty() ? "" : " ") + std::string(node->Value());
  if (!split(text).empty()) texts[path] = text;
  for (auto value = element.FirstAttribute(); value; value = value->Next())
    if (value->Name() != std::string("name")) texts[path + "/" + value->Name()] = value->Value();
  std::map<std::string, int> counts;
  for (auto child = element.FirstChildElement(); child; child = child->NextSiblingElement()) {
    const char * name = child->Attribute("name");
    const auto key = child->Name() + (name ? std::string("[") + name + "]" : "");
    const int count = counts[key]++;
    collect(*child, path + "/" + key + (count ? "#" + std::to_string(count) : ""), texts);
  }
}

// :raises std::runtime_error: if the component does not fit the compiled robot.
template <typename Info>
class Reader {
public:
  explicit Reader(const Info & info)
  : info_(info), block_("robot/ros2_control[" + info.name + "]/") {
    init_state(&setup_.state);
  }

  Setup read() {
    tinyxml2::XMLDocument document;
    require(document.Parse(info_.original_xml.c_str()) == tinyxml2::XML_SUCCESS,
            "robot_description", "XML", document.ErrorName());
    collect(*document.RootElement(), "robot", texts_);
    choose_transmissions();
    read_joint_limits();
    check_interfaces();
    compare_description();
    read_parameters();
    return setup_;
  }

private:
  // The transmissions of a component are those of its joints.
  void choose_transmissions() {
    std::string own, names;
    for (int t = 0; t < n_transmissions; t++) {
      const auto & [name, joints, actuators, owned] = transmissions[t];
      std::size_t n_own = 0;
      for (const auto & joint : info_.joints) n_own += find_transmission(joint.name) == t;
      if (n_own == 0) continue;
      require(n_own == joints.size(), "transmission " + quote(name),
              "all its joints in component " + quote(info_.name),
              std::to_string(n_own) + " of them");
      setup_.own.push_back(t);
      if (!name.empty()) own += " " + name;
      for (const int a : actuators) {
        const auto start =
          block_ + "transmission[" + name + "]/actuator[" + actuator_names[a] + "]/param[";
        for (const auto & [path, text] : texts_)
          if (path.rfind(start, 0) == 0 && path.back() == ']')
            setup_.parameters[a][path.substr(start.size(), path.size() - start.size() - 1)] = text;
      }
    }
    // The first transmission that reads an actuator commands it, so their order counts.
    for (const auto & transmission : info_.transmissions) names += " " + transmission.name;
    compare(own == names, block_ + "transmission", own, names);
  }

  // Joints that only follow keep their limits: those of <mimic>, and all of a transmission with
  // fewer motors than joints.
  void read_joint_limits() {
    for (const auto & mimic : info_.mimic_joints) {
      const auto & name = info_.joints[mimic.joint_index].name;
      const auto & followed = info_.joints[mimic.mimicked_joint_index].name;
      const int j = find_name(joint_names, n_joints, followed);
      if (find_name(joint_names, n_joints, name) < 0 && j >= 0)
        setup_.followers.push_back({find_transmission(followed), name, j, mimic.multiplier,
                                    mimic.offset, find_limits(name)});
    }
    for (const int t : setup_.own) {
      const auto & [name, joints, actuators, owned] = transmissions[t];
      for (const int j : joints) {
        setup_.joint_limits[j] = find_limits(joint_names[j]);
        if (owned.size() < joints.size())
          setup_.followers.push_back({t, joint_names[j], j, 1.0, 0.0, setup_.joint_limits[j]});
      }
    }
  }

  Limits find_limits(const std::string & joint) const {
    Limits limits;
    const auto entry = info_.limits.find(joint);
    if (entry == info_.limits.end()) return limits;
    const auto & given = entry->second;
    if (given.has_position_limits) limits.values[lower] = given.min_position;
    if (given.has_position_limits) limits.values[upper] = given.max_position;
    if (given.has_velocity_limits) limits.values[of_velocity] = given.max_velocity;
    if (given.has_effort_limits) limits.values[of_effort] = given.max_effort;
    limits.check("limits of joint " + quote(joint));
    return limits;
  }

  void check_interfaces() const {
    for (const auto & joint : info_.joints) {
      const auto place = "joint " + quote(joint.name);
      compare(setup_.find_joint(joint.name) >= 0, place, "", joint.name);
      std::array<int, n_rows> counts{};
      for (const auto * interfaces : {&joint.command_interfaces, &joint.state_interfaces}) {
        for (const auto & interface : *interfaces) {
          const int row = find_row(interface.name);
          const bool is_number = interface.data_type.empty() || interface.data_type == "double";
          const bool passes = is_number && interface.name != "acceleration" &&
                              interface.name != "jerk" && !find_actuator(joint.name).empty();
          require(row >= 0 || passes, place,
                  "position, velocity, effort, or numbers of the actuator of its role",
                  quote(interface.name));
          if (row < 0 || interfaces != &joint.command_interfaces) continue;
          require(++counts[row] == 1, place, "one of the commands effort, torque, force", "more");
          require(find_transmission(joint.name) >= 0, place,
                  "no command interface, because other joints move it", quote(interface.name));
        }
      }
    }
  }

  // Numbers that decide the maps are read, all others have to be those that were compiled.
  void compare_description() {
    for (const auto & number : numbers)
      if (number.actuator >= 0)
        setup_.actuator_limits[number.actuator].values[number.side] = number.value;
    Names known;
    for (const auto & fact : facts) {
      if (!contains(setup_.own, fact.transmission)) continue;
      known.push_back((fact.path[0] == 't' ? block_ : "robot/") + fact.path);
      compare_words(fact, known.back());
    }
    for (const auto & [path, text] : texts_)
      compare(path.rfind(block_ + "transmission[", 0) != 0 || contains(known, path), path, "",
              text);
    for (const int t : setup_.own)
      for (const int a : transmissions[t].owned)
        setup_.actuator_limits[a].check("limits of actuator " + quote(actuator_names[a]));
  }

  // Compare the words of a text, and use the numbers among them.
  void compare_words(const Fact & fact, const std::string & place) {
    const auto & text = texts_[place];
    const Names words = split(fact.words), given = split(text);
    if (fact.words == "*" || given == split(fact.compiled)) return;
    bool is_equal = words.size() == given.size();
    for (std::size_t k = 0; is_equal && k < words.size(); k++) {
      if (words[k][0] == '@')
        set_number(place, numbers[std::stoul(words[k].substr(1))], given[k]);
      else
        is_equal = words[k] == "*" || is_same(words[k], given[k]);
    }
    compare(is_equal, place, fact.compiled, text);
  }

  void set_number(const std::string & place, const Number & number, const std::string & word) {
    const double value = to_number(place, word);
    if (number.actuator >= 0) setup_.actuator_limits[number.actuator].values[number.side] = value;
    const int reason = number.live < 0 ? 0 : set_live(&setup_.state, number.live, value);
    require(!reason, place, "another number", quote(word) + ", " + reason_text(reason));
  }

  void read_parameters() {
    for (const auto & [name, value] : info_.hardware_parameters)
      for (const auto & ours : parameters)
        require(!is_near(name, ours.name, std::string(ours.name).size() < 8 ? 1 : 2),
                "parameter " + quote(name),
                quote(ours.name) + ", or a name of the driver that differs more",
                "another spelling");
    std::map<std::string, std::string> texts;
    for (const auto & [name, value, words] : parameters) {
      const auto entry = info_.hardware_parameters.find(name);
      const auto & text = texts[name] =
        entry == info_.hardware_parameters.end() ? words[0] : entry->second;
      const auto place = "parameter " + quote(name);
      if (!value) continue;
      if (words.size() == 1) {
        setup_.options.*value = to_number(place, text);
        require(setup_.options.*value >= 0.0, place, "a number from zero on", text);
        continue;
      }
      std::string expected;
      for (const auto & word : words) expected += (expected.empty() ? "" : " or ") + word;
      const auto found = std::find(words.begin(), words.end(), text);
      require(found != words.end(), place, expected, quote(text));
      setup_.options.*value = static_cast<double>(found - words.begin());
    }
    setup_.driver_plugin = texts["driver_plugin"];
    require(!setup_.driver_plugin.empty(), "parameter 'driver_plugin'", "the plugin of the driver",
            "none");
    setup_.is_async = info_.is_async;
    for (const auto & word : split(texts["wrap_period"])) read_period(word);
  }

  void read_period(const std::string & word) {
    const auto middle = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, middle);
    const std::string place = "parameter 'wrap_period', actuator " + quote(name);
    const int a = find_name(actuator_names, n_actuators, name);
    const int t = a < 0 ? -1 : actuator_owners[a];
    require(contains(setup_.own, t) && transmissions[t].joints.size() == 1 &&
              transmissions[t].owned.size() == 1,
            place, "the one actuator of one joint", "another name");
    const int j = transmissions[t].joints[0];
    const double period = to_number(place, word.substr(std::min(middle + 1, word.size())));
    State state = setup_.state;
    double joints[n_rows][n_joints], ends[n_sides], actuators[n_rows][n_actuators];
    for (auto & row : joints) std::fill(row, row + n_joints, unknown);
    for (const int side : {lower, upper}) {
      joints[position][j] = setup_.joint_limits[j].values[side];
      to_actuator(&state, joints, joints[position], actuators);
      ends[side] = actuators[position][a];
    }
    auto & turn = setup_.turns[a];
    turn = {period * std::abs(scales[a][position]), std::min(ends[lower], ends[upper]),
            std::max(ends[lower], ends[upper])};
    require(turn.high - turn.low < turn.period, place,
            "position limits of its joint that are less than a turn apart",
            write((turn.high - turn.low) / turn.period) + " turns");
  }

  const Info & info_;
  const std::string block_;
  Texts texts_;  // of the whole description
  Setup setup_{};
};

// Add interfaces of a joint to its actuator. Bounds and first values are numbers of the joint.
template <typename Interfaces>
void add_interfaces(const Interfaces & of_joint, Interfaces & of_actuator) {
  for (auto interface : of_joint) {
    const auto has_name = [&](const auto & other) { return other.name == interface.name; };
    interface.min = interface.max = interface.initial_value = "";
    if (std::none_of(of_actuator.begin(), of_actuator.end(), has_name))
      of_actuator.push_back(interface);
  }
}

// What the driver is given: its actuators as joints, and its own parameters.
template <typename Info>
Info describe_driver(const Info & info, const Setup & setup) {
  Info driver = info;
  driver.name += "_driver";
  driver.hardware_plugin_name = setup.driver_plugin;
  driver.is_async = false;
  driver.joints.clear();
  driver.transmissions.clear();
  driver.mimic_joints.clear();
  driver.limits.clear();
  driver.soft_limits.clear();
  for (const auto & ours : parameters) driver.hardware_parameters.erase(ours.name);
  std::map<int, std::decay_t<decltype(info.joints[0])>> actuators;
  for (const auto & joint : info.joints) {
    const int t = find_transmission(joint.name);
    if (t < 0) continue;
    for (const int a : transmissions[t].actuators) {
      add_interfaces(joint.state_interfaces, actuators[a].state_interfaces);
      if (contains(transmissions[t].owned, a))
        add_interfaces(joint.command_interfaces, actuators[a].command_interfaces);
      if (transmissions[t].joints.size() == 1)
        actuators[a].parameters.insert(joint.parameters.begin(), joint.parameters.end());
    }
  }
  for (auto & [a, actuator] : actuators) {
    actuator.name = actuator_names[a];
    actuator.type = "joint";
    for (const auto & [name, value] : setup.parameters[a]) actuator.parameters[name] = value;
    driver.joints.push_back(actuator);
  }
  return driver;
}

}  // namespace MAPPED_NAMESPACE
