// SPDX-License-Identifier: Apache-2.0
//
// What a component is built from: its description is compared with what was compiled, and its
// parameters are read. Errors are exceptions that give place, expectation and finding. A
// description has the members of ros2_control's HardwareInfo.
#pragma once

#include <tinyxml2.h>

#include <array>
#include <iterator>
#include <locale>
#include <sstream>
#include <utility>

#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {

using tinyxml2::XMLElement;

template <std::size_t N>
int find_name(const char * const (&names)[N], int count, const std::string & name) {
  for (int k = 0; k < count; k++)
    if (name == names[k]) return k;
  return -1;
}

template <typename List, typename Item>
bool contains(const List & list, const Item & item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

struct Limits {
  double values[n_sides] = {-infinite, infinite, infinite, infinite};

  double low(int row) const { return row == position ? values[lower] : -values[row + 1]; }
  double high(int row) const { return values[row == position ? upper : row + 1]; }
};

// A joint that follows another one by <mimic>, through no transmission.
struct Mimic {
  std::string name;
  int joint;  // that it follows
  double multiplier, offset;
};

// A joint that only follows and keeps its limits, and the transmission that moves it.
struct Follower {
  int transmission;
  Mimic mimic;
  Limits limits;
};

// What happens beyond a limit: what is usual for it, no result, or nothing.
enum class Choice { usual, reject, off };

struct Options {
  std::string driver_plugin;
  bool is_dry, zero_effort, ends_by_error;
  Choice limits, max_step;
  double hold_timeout, zero_max_velocity;
  // A controller may write its last value after the first write of an asynchronous component.
  int ending_writes;
};

struct Setup {
  Options options;
  std::vector<int> own;  // transmissions of this component
  std::array<int, n_actuators> owner;
  std::array<int, n_joints> owner_of_joint;
  std::array<Limits, n_actuators> actuator_limits;
  std::array<Limits, n_joints> joint_limits;
  std::array<double, n_actuators> periods;    // of single-turn encoders, else NaN
  std::array<Texts, n_actuators> parameters;  // of the <actuator>, for the driver
  std::vector<Mimic> mimics;
  std::vector<Follower> followers;
  State state;

  // Index of a joint; after those of the map, joints that follow by <mimic>; else -1.
  int find_joint(const std::string & name) const {
    const int j = find_name(joint_names, n_joints, name);
    for (std::size_t k = 0; j < 0 && k < mimics.size(); k++)
      if (mimics[k].name == name) return n_joints + static_cast<int>(k);
    return j;
  }

  // The own transmission that has a joint of the map, else -1.
  int find_transmission(const std::string & joint) const {
    const int j = find_name(joint_names, n_joints, joint);
    return j < 0 ? -1 : owner_of_joint[j];
  }

  // The actuator with the role of a joint, empty without one.
  std::string find_actuator(const std::string & joint) const {
    const int t = find_transmission(joint);
    if (t < 0) return "";
    const auto & [name, joints, actuators, owned] = transmissions[t];
    for (std::size_t k = 0; k < std::min(joints.size(), actuators.size()); k++)
      if (joint_names[joints[k]] == joint) return actuator_names[actuators[k]];
    return "";
  }
};

inline const Names options_of_component = {"driver_plugin", "dry_run",     "limits",
                                           "max_step",      "zero_effort", "zero_max_velocity",
                                           "hold_timeout",  "after_hold",  "wrap_period"};

// Refuse what differs from what was compiled.
inline void compare(bool is_same, const std::string & place, const std::string & compiled,
                    const std::string & text) {
  require(is_same, place, quote(compiled) + " of package " + package,
          quote(text) + "; run 'transmission_bridge compile FILE.urdf --output FOLDER " +
            "--ros2-control --force' with its description and build the package again");
}

inline Names split(const std::string & text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

inline bool read_number(const std::string & word, double & value) {
  std::istringstream stream(word);
  stream.imbue(std::locale::classic());
  return (stream >> value) && std::isfinite(value) &&
         stream.peek() == std::istringstream::traits_type::eof();
}

inline double to_number(const std::string & place, const std::string & word) {
  double value = unknown;
  require(read_number(word, value), place, "a number", quote(word));
  return value;
}

inline void check_order(const Limits & limits, const std::string & place) {
  require(limits.values[lower] <= limits.values[upper], place,
          "a lower position limit that is not above the upper one",
          write(limits.values[lower]) + " and " + write(limits.values[upper]));
  for (const int side : {of_velocity, of_effort})
    require(limits.values[side] >= 0.0, place, "limits of velocity and effort from zero on",
            write(limits.values[side]));
}

// Whether two words differ at one place, by at most so many letters.
inline bool is_near(const std::string & one, const std::string & other, std::ptrdiff_t most) {
  const auto start = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const auto end = std::mismatch(one.rbegin(), std::make_reverse_iterator(start.first),
                                 other.rbegin(), std::make_reverse_iterator(start.second));
  return one != other &&
         std::max(end.first.base() - start.first, end.second.base() - start.second) <= most;
}

inline std::string read_name(const XMLElement & element) {
  const char * name = element.Attribute("name");
  return name ? name : "";
}

inline const XMLElement * find_child(const XMLElement * parent, const char * tag,
                                     const std::string & name) {
  auto child = parent ? parent->FirstChildElement(tag) : nullptr;
  while (child && read_name(*child) != name) child = child->NextSiblingElement(tag);
  return child;
}

// Collect the texts of elements and attributes by path. A name is part of the path.
inline void collect(const XMLElement & element, const std::string & path, Texts & texts) {
  std::string text;
  for (auto node = element.FirstChild(); node; node = node->NextSibling())
    if (node->ToText()) text += node->Value() + std::string(" ");
  if (!split(text).empty()) texts[path] = text;
  for (auto value = element.FirstAttribute(); value; value = value->Next())
    if (value->Name() != std::string("name")) texts[path + "/" + value->Name()] = value->Value();
  std::map<std::string, int> counts;
  for (auto child = element.FirstChildElement(); child; child = child->NextSiblingElement()) {
    const std::string name = read_name(*child);
    const std::string key = child->Name() + (name.empty() ? "" : "[" + name + "]");
    const int count = counts[key]++;
    collect(*child, path + "/" + key + (count ? "#" + std::to_string(count) : ""), texts);
  }
}

inline const Number & find_number(const std::string & word) {
  return numbers[std::stoul(word.substr(1))];
}

// :raises std::runtime_error: if the component does not fit the compiled robot.
template <typename Info>
class Reader {
public:
  explicit Reader(const Info & info) : info_(info) {
    setup_.owner.fill(-1);
    setup_.owner_of_joint.fill(-1);
    setup_.periods.fill(unknown);
    init_state(&setup_.state);
  }

  Setup read() {
    require(document_.Parse(info_.original_xml.c_str()) == tinyxml2::XML_SUCCESS,
            "robot_description", "XML",
            document_.ErrorStr() ? document_.ErrorStr() : "another text");
    robot_ = document_.RootElement();
    block_ = find_child(robot_, "ros2_control", info_.name);
    choose_transmissions();
    choose_mimics();
    check_interfaces();
    compare_description();
    read_limits();
    read_parameters();
    return setup_;
  }

private:
  // The transmissions of a component are those of its joints.
  void choose_transmissions() {
    std::string own;
    for (int t = 0; t < n_transmissions; t++) {
      const auto & [name, joints, actuators, owned] = transmissions[t];
      std::size_t n_joints_here = 0;
      for (const auto & joint : info_.joints)
        n_joints_here += contains(joints, find_name(joint_names, n_joints, joint.name));
      if (n_joints_here == 0) continue;
      require(n_joints_here == joints.size(), "transmission " + quote(name),
              "all its joints in component " + quote(info_.name),
              std::to_string(n_joints_here) + " of them");
      setup_.own.push_back(t);
      if (!name.empty()) own += " " + name;
      for (const int j : joints) setup_.owner_of_joint[j] = t;
      for (const int a : owned) setup_.owner[a] = t;
      for (const int a : actuators) {
        const auto element =
          find_child(find_child(block_, "transmission", name), "actuator", actuator_names[a]);
        for (auto param = element ? element->FirstChildElement("param") : nullptr; param;
             param = param->NextSiblingElement("param"))
          if (param->GetText()) setup_.parameters[a][read_name(*param)] = param->GetText();
      }
    }
    // The first transmission that reads an actuator commands it, so their order counts.
    std::string names;
    for (auto element = block_ ? block_->FirstChildElement("transmission") : nullptr; element;
         element = element->NextSiblingElement("transmission"))
      names += " " + read_name(*element);
    compare(own == names, "ros2_control " + quote(info_.name) + ", transmissions", own, names);
  }

  void choose_mimics() {
    for (const auto & mimic : info_.mimic_joints) {
      const auto & name = info_.joints[mimic.joint_index].name;
      const auto & followed = info_.joints[mimic.mimicked_joint_index].name;
      const int j = find_name(joint_names, n_joints, followed);
      if (find_name(joint_names, n_joints, name) < 0 && j >= 0)
        setup_.mimics.push_back({name, j, mimic.multiplier, mimic.offset});
    }
  }

  void check_interfaces() const {
    for (const auto & joint : info_.joints) {
      const auto place = "joint " + quote(joint.name);
      compare(setup_.find_joint(joint.name) >= 0, place, "", joint.name);
      std::array<int, n_rows> counts{};
      for (const auto & interface : joint.command_interfaces) {
        const int row = find_row(interface.name);
        if (row < 0) continue;
        require(++counts[row] == 1, place, "one of the commands effort, torque, force", "more");
        require(setup_.find_transmission(joint.name) >= 0, place,
                "no command interface, because other joints move it", quote(interface.name));
      }
      for (const auto * interfaces : {&joint.command_interfaces, &joint.state_interfaces}) {
        for (const auto & interface : *interfaces) {
          const bool is_number = interface.data_type.empty() || interface.data_type == "double";
          const bool passes = is_number && interface.name != "acceleration" &&
                              interface.name != "jerk" &&
                              !setup_.find_actuator(joint.name).empty();
          require(find_row(interface.name) >= 0 || passes, place,
                  "position, velocity, effort, or numbers of the actuator of its role",
                  quote(interface.name));
        }
      }
    }
  }

  // Numbers that decide the maps are read, all others have to be those that were compiled.
  void compare_description() {
    for (const auto & number : numbers)
      if (number.actuator >= 0)
        setup_.actuator_limits[number.actuator].values[number.side] = number.value;
    std::map<std::string, Texts> left;
    for (const auto & fact : facts) {
      if (!contains(setup_.own, fact.transmission)) continue;
      const auto middle = fact.subject.find('[');
      const auto tag = fact.subject.substr(0, middle);
      const auto name = fact.subject.substr(middle + 1, fact.subject.size() - middle - 2);
      const auto [entry, is_new] = left.try_emplace(fact.subject);
      auto & texts = entry->second;
      if (is_new) {
        const auto element = find_child(tag == "joint" ? robot_ : block_, tag.c_str(), name);
        compare(element, fact.subject, name, "");
        collect(*element, "", texts);
      }
      compare_words(fact, texts[fact.path]);
      texts.erase(fact.path);
    }
    for (const auto & [subject, texts] : left)
      for (const auto & [path, text] : texts) compare(subject[0] == 'j', subject + path, "", text);
  }

  // Compare the words of a text, and use the numbers among them.
  void compare_words(const Fact & fact, const std::string & text) {
    const Names compiled = split(fact.text), words = split(text);
    const auto place = fact.subject + fact.path;
    std::string before;  // with the numbers that were compiled
    bool may_lack = true, is_same = compiled.size() == words.size();
    for (std::size_t k = 0; k < compiled.size(); k++) {
      const auto & word = compiled[k];
      const bool is_number = word[0] == '@', is_given = is_number && word.back() == '!';
      before += (k ? " " : "") + (is_number ? write(find_number(word).value) : word);
      may_lack = may_lack && is_number && (is_given || word.back() == '?');
      double one, other;
      if (!is_same || word == "*" || is_given) continue;
      if (is_number)
        set_number(place, find_number(word), words[k]);
      else
        is_same = word == words[k] ||
                  (read_number(word, one) && read_number(words[k], other) && one == other);
    }
    compare(is_same || (words.empty() && may_lack), place, before, text);
  }

  void set_number(const std::string & place, const Number & number, const std::string & word) {
    const double value = to_number(place, word);
    if (number.actuator >= 0) {
      setup_.actuator_limits[number.actuator].values[number.side] = value;
    } else if (number.live >= 0) {
      const int reason = set_live(&setup_.state, number.live, value);
      require(!reason, place + " (" + live_names[number.live] + ")", "another number",
              quote(word) + ", " + reason_text(reason));
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
    check_order(limits, "limits of joint " + quote(joint));
    return limits;
  }

  // Joints that only follow keep their limits: those of <mimic>, and all of a transmission with
  // fewer motors than joints.
  void read_limits() {
    for (const int t : setup_.own) {
      for (const int j : transmissions[t].joints) {
        setup_.joint_limits[j] = find_limits(joint_names[j]);
        if (transmissions[t].owned.size() < transmissions[t].joints.size())
          setup_.followers.push_back({t, {joint_names[j], j, 1.0, 0.0}, setup_.joint_limits[j]});
      }
      for (const int a : transmissions[t].owned)
        check_order(setup_.actuator_limits[a], "limits of actuator " + quote(actuator_names[a]));
    }
    for (const auto & mimic : setup_.mimics)
      if (const int t = setup_.owner_of_joint[mimic.joint]; t >= 0)
        setup_.followers.push_back({t, mimic, find_limits(mimic.name)});
  }

  std::string read(const std::string & name, const std::string & otherwise) const {
    const auto entry = info_.hardware_parameters.find(name);
    return entry == info_.hardware_parameters.end() ? otherwise : entry->second;
  }

  // Index of the text of a parameter among the possible ones; the first one is the default.
  int choose(const std::string & name, const Names & texts) const {
    const auto text = read(name, texts[0]);
    std::string expected;
    for (const auto & possible : texts) expected += (expected.empty() ? "" : " or ") + possible;
    require(contains(texts, text), "parameter " + quote(name), expected, quote(text));
    return static_cast<int>(std::find(texts.begin(), texts.end(), text) - texts.begin());
  }

  double read_positive(const std::string & name, const std::string & otherwise) const {
    const auto place = "parameter " + quote(name);
    const double value = to_number(place, read(name, otherwise));
    require(value >= 0.0, place, "a number from zero on", write(value));
    return value;
  }

  void read_parameters() {
    for (const auto & [name, value] : info_.hardware_parameters)
      for (const auto & ours : options_of_component)
        require(!is_near(name, ours, ours.size() < 8 ? 1 : 2), "parameter " + quote(name),
                quote(ours) + ", or a name of the driver that differs more", "another spelling");
    auto & options = setup_.options;
    options.driver_plugin = read("driver_plugin", "");
    require(!options.driver_plugin.empty(), "parameter 'driver_plugin'",
            "the plugin of the driver", "none");
    options.is_dry = choose("dry_run", {"false", "true"});
    options.zero_effort = choose("zero_effort", {"false", "true"});
    options.ends_by_error = choose("after_hold", {"deactivate", "error"});
    options.limits = static_cast<Choice>(choose("limits", {"clamp", "reject", "off"}));
    options.max_step = static_cast<Choice>(choose("max_step", {"warn", "reject", "off"}));
    options.ending_writes = info_.is_async ? 2 : 1;
    options.hold_timeout = read_positive("hold_timeout", "0.5");
    options.zero_max_velocity = read_positive("zero_max_velocity", "0.01");
    for (const auto & word : split(read("wrap_period", ""))) read_period(word);
  }

  void read_period(const std::string & word) {
    const auto middle = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, middle);
    const std::string place = "parameter 'wrap_period', actuator " + quote(name);
    const int a = find_name(actuator_names, n_actuators, name);
    const int t = a < 0 ? -1 : setup_.owner[a];
    require(t >= 0 && transmissions[t].joints.size() == 1 && transmissions[t].owned.size() == 1,
            place, "the one actuator of one joint", "another name");
    const auto & limits = setup_.joint_limits[transmissions[t].joints[0]].values;
    require(std::isfinite(limits[upper] - limits[lower]), place, "position limits of its joint",
            "none");
    const double period = to_number(place, word.substr(std::min(middle + 1, word.size())));
    require(period > 0.0, place, "a number above zero", quote(word));
    setup_.periods[a] = period * std::abs(scales[a][position]);
  }

  const Info & info_;
  tinyxml2::XMLDocument document_;
  const XMLElement *robot_ = nullptr, *block_ = nullptr;
  Setup setup_{};
};

// Add interfaces of a joint to its actuator. Bounds and first values are numbers of the joint.
template <typename Interfaces>
void add_interfaces(const Interfaces & of_joint, Interfaces & of_actuator) {
  for (auto interface : of_joint) {
    const auto is_same = [&](const auto & other) { return other.name == interface.name; };
    interface.min = interface.max = interface.initial_value = "";
    if (std::none_of(of_actuator.begin(), of_actuator.end(), is_same))
      of_actuator.push_back(interface);
  }
}

// What the driver is given: its actuators as joints, and its own parameters.
template <typename Info>
Info describe_driver(const Info & info, const Setup & setup) {
  Info driver = info;
  driver.name += "_driver";
  driver.hardware_plugin_name = setup.options.driver_plugin;
  driver.is_async = false;
  driver.joints.clear();
  driver.transmissions.clear();
  driver.mimic_joints.clear();
  driver.limits.clear();
  driver.soft_limits.clear();
  for (const auto & name : options_of_component) driver.hardware_parameters.erase(name);
  for (int a = 0; a < n_actuators; a++) {
    std::decay_t<decltype(info.joints[0])> actuator;
    actuator.name = actuator_names[a];
    actuator.type = "joint";
    actuator.parameters = {setup.parameters[a].begin(), setup.parameters[a].end()};
    bool is_own = false;
    for (const auto & joint : info.joints) {
      const int t = setup.find_transmission(joint.name);
      if (t < 0 || !contains(transmissions[t].actuators, a)) continue;
      is_own = true;
      add_interfaces(joint.state_interfaces, actuator.state_interfaces);
      if (setup.owner[a] == t)
        add_interfaces(joint.command_interfaces, actuator.command_interfaces);
      if (transmissions[t].joints.size() == 1)
        actuator.parameters.insert(joint.parameters.begin(), joint.parameters.end());
    }
    if (is_own) driver.joints.push_back(actuator);
  }
  return driver;
}

}  // namespace MAPPED_NAMESPACE
