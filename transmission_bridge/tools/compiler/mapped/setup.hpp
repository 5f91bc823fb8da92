// SPDX-License-Identifier: Apache-2.0
//
// What a component is built from: its description is compared with what was compiled, and its
// parameters are read. Errors are exceptions that give place, expectation and finding. A
// description has the members of ros2_control's HardwareInfo.
#pragma once

#include <tinyxml2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <utility>

#include MAPPED_ROBOT

namespace MAPPED_NAMESPACE {

using Texts = std::map<std::string, std::string>;

template <std::size_t N>
int find_name(const char * const (&names)[N], int count, const std::string & name) {
  for (int k = 0; k < count; k++)
    if (name == names[k]) return k;
  return -1;
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

enum class Choice { clamp, reject, off, warn };

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
  Names notes;           // what the description does not have
  std::vector<int> own;  // transmissions of this component
  std::array<int, n_actuators> owner;
  std::array<int, n_joints> owner_of_joint;
  std::array<Limits, n_actuators> actuator_limits;
  std::array<Limits, n_joints> joint_limits;
  std::array<double, n_actuators> periods;    // of single-turn encoders, else NaN
  std::array<Texts, n_actuators> parameters;  // of the <actuator>, for the driver
  std::vector<Mimic> mimics;
  std::vector<std::pair<int, Mimic>> followed;  // with the transmission that moves it
  std::vector<Limits> limits_of_followed;
  State state;

  // Index of a joint; after those of the map, joints that follow by <mimic>; else -1.
  int find_joint(const std::string & name) const {
    const int j = find_name(joint_names, n_joints, name);
    for (std::size_t k = 0; j < 0 && k < mimics.size(); k++)
      if (mimics[k].name == name) return n_joints + static_cast<int>(k);
    return j;
  }

  // The actuator with the role of a joint, empty without one.
  std::string find_actuator(const std::string & joint) const {
    for (const int t : own) {
      const auto & each = transmissions[t];
      for (std::size_t k = 0; k < std::min(each.joints.size(), each.actuators.size()); k++)
        if (joint_names[each.joints[k]] == joint) return actuator_names[each.actuators[k]];
    }
    return "";
  }

  // The own transmission that has a joint and an actuator, else -1.
  int find_transmission(const std::string & joint, int actuator) const {
    const int j = find_name(joint_names, n_joints, joint);
    const int t = j < 0 ? -1 : owner_of_joint[j];
    if (t < 0) return -1;
    const auto & list = transmissions[t].actuators;
    return std::find(list.begin(), list.end(), actuator) == list.end() ? -1 : t;
  }
};

using tinyxml2::XMLElement;

inline const Names options_of_component = {"driver_plugin", "dry_run",     "limits",
                                           "max_step",      "zero_effort", "zero_max_velocity",
                                           "hold_timeout",  "after_hold",  "wrap_period"};

inline std::string advise() {
  return "run 'transmission_bridge compile FILE.urdf --output FOLDER --ros2-control --force' "
         "with its description and build package " +
         std::string(package) + " again";
}

inline void require(bool is_met, const std::string & place, const std::string & expected,
                    const std::string & found) {
  if (!is_met) throw std::runtime_error(place + ": expected " + expected + ", found " + found);
}

inline std::string quote(const std::string & text) { return "'" + text + "'"; }

inline std::string write(double value) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  stream.precision(12);
  stream << value;
  return stream.str();
}

inline Names split(const std::string & text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

inline bool contains(const Names & names, const std::string & name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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

// How many letters are replaced, added or removed between two words.
inline std::size_t count_edits(const std::string & one, const std::string & other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t k = 0; k < row.size(); k++) row[k] = k;
  for (std::size_t i = 0; i < one.size(); i++) {
    std::size_t diagonal = row[0]++;
    for (std::size_t k = 0; k < other.size(); k++) {
      const std::size_t replaced = diagonal + (one[i] != other[k]);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

inline std::string read_name(const XMLElement & element) {
  const char * name = element.Attribute("name");
  return name ? name : "";
}

inline std::string read_text(const XMLElement & element) {
  std::string text;
  for (auto node = element.FirstChild(); node; node = node->NextSibling())
    if (node->ToText()) text += node->Value() + std::string(" ");
  return text;
}

inline const XMLElement * find_child(const XMLElement * parent, const char * tag,
                                     const std::string & name) {
  auto child = parent ? parent->FirstChildElement(tag) : nullptr;
  while (child && read_name(*child) != name) child = child->NextSiblingElement(tag);
  return child;
}

// Collect the texts of elements and attributes by path. A name is part of the path.
inline void collect(const XMLElement & element, const std::string & path, Texts & texts) {
  if (const auto text = read_text(element); !split(text).empty()) texts[path] = text;
  for (auto each = element.FirstAttribute(); each; each = each->Next())
    if (each->Name() != std::string("name")) texts[path + "/" + each->Name()] = each->Value();
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

// The words of a fact, with the numbers that were compiled.
inline std::string describe_fact(const std::string & text) {
  std::string found;
  for (const auto & word : split(text)) {
    const bool is_number = word[0] == '@';
    found += (found.empty() ? "" : " ") + (is_number ? write(find_number(word).value) : word);
  }
  return found;
}

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
    find_followed();
    return setup_;
  }

private:
  // The transmissions of a component are those of its joints.
  void choose_transmissions() {
    std::string own;
    for (int t = 0; t < n_transmissions; t++) {
      const auto & each = transmissions[t];
      const auto n = std::count_if(each.joints.begin(), each.joints.end(), [&](int j) {
        return std::any_of(info_.joints.begin(), info_.joints.end(),
                           [&](const auto & joint) { return joint.name == joint_names[j]; });
      });
      if (n == 0) continue;
      require(n == static_cast<int>(each.joints.size()), "transmission " + quote(each.name),
              "all its joints in component " + quote(info_.name), std::to_string(n) + " of them");
      setup_.own.push_back(t);
      if (!each.name.empty()) own += " " + each.name;
      for (const int j : each.joints) setup_.owner_of_joint[j] = t;
      for (const int a : each.owned) setup_.owner[a] = t;
      for (const int a : each.actuators) {
        const auto element =
          find_child(find_child(block_, "transmission", each.name), "actuator", actuator_names[a]);
        for (auto param = element ? element->FirstChildElement("param") : nullptr; param;
             param = param->NextSiblingElement("param"))
          if (param->GetText()) setup_.parameters[a][read_name(*param)] = param->GetText();
      }
    }
    // The first transmission that reads an actuator commands it, so their order counts.
    std::string found;
    for (auto each = block_ ? block_->FirstChildElement("transmission") : nullptr; each;
         each = each->NextSiblingElement("transmission"))
      found += " " + read_name(*each);
    require(own == found, "ros2_control " + quote(info_.name) + ", transmissions",
            quote(own) + " of package " + package, quote(found) + "; " + advise());
  }

  void choose_mimics() {
    for (const auto & each : info_.mimic_joints) {
      const auto & name = info_.joints[each.joint_index].name;
      const auto & followed = info_.joints[each.mimicked_joint_index].name;
      const int j = find_name(joint_names, n_joints, followed);
      if (find_name(joint_names, n_joints, name) < 0 && j >= 0)
        setup_.mimics.push_back({name, j, each.multiplier, each.offset});
    }
  }

  void check_interfaces() const {
    for (const auto & joint : info_.joints) {
      const auto place = "joint " + quote(joint.name);
      const int j = setup_.find_joint(joint.name);
      require(j >= 0, place, "one that was compiled in package " + std::string(package),
              "another one; " + advise());
      std::array<int, n_rows> counts{};
      for (const auto & each : joint.command_interfaces) {
        const int row = find_row(each.name);
        if (row < 0) continue;
        require(++counts[row] == 1, place, "one of the commands effort, torque, force", "more");
        require(j < n_joints && setup_.owner_of_joint[j] >= 0, place,
                "no command interface, because other joints move it", quote(each.name));
      }
      for (const auto * interfaces : {&joint.command_interfaces, &joint.state_interfaces}) {
        for (const auto & each : *interfaces) {
          const bool is_number = each.data_type.empty() || each.data_type == "double";
          const bool passes = is_number && each.name != "acceleration" && each.name != "jerk" &&
                              !setup_.find_actuator(joint.name).empty();
          require(find_row(each.name) >= 0 || passes, place,
                  "position, velocity, effort, or numbers of the actuator of its role",
                  quote(each.name));
        }
      }
    }
  }

  // Numbers that decide the maps are read, all others have to be those that were compiled.
  void compare_description() {
    for (const auto & each : numbers)
      if (each.actuator >= 0) setup_.actuator_limits[each.actuator].values[each.side] = each.value;
    std::map<std::string, Texts> left;
    for (const auto & fact : facts) {
      if (!contains_own(fact.transmission)) continue;
      const auto middle = fact.subject.find('[');
      const auto tag = fact.subject.substr(0, middle);
      const auto name = fact.subject.substr(middle + 1, fact.subject.size() - middle - 2);
      const auto [place, is_new] = left.try_emplace(fact.subject);
      auto & found = place->second;
      if (is_new) {
        const auto element = find_child(tag == "joint" ? robot_ : block_, tag.c_str(), name);
        require(element, fact.subject, "that of package " + std::string(package),
                "none; " + advise());
        collect(*element, "", found);
      }
      compare_words(fact, found.count(fact.path) ? found[fact.path] : "");
      found.erase(fact.path);
    }
    for (const auto & [subject, texts] : left)
      for (const auto & [path, text] : texts)
        if (subject[0] == 't') note_difference(subject + path, "", text);
    require(differences_.empty(), "the description", "that of package " + std::string(package),
            std::to_string(count_) + " differences: " + differences_ + "; " + advise());
    for (const auto & each : of_parameter_files)
      setup_.notes.push_back("of a parameter file, not of the description: " + each);
  }

  bool contains_own(int t) const {
    return std::find(setup_.own.begin(), setup_.own.end(), t) != setup_.own.end();
  }

  void note_difference(const std::string & place, const std::string & before,
                       const std::string & now) {
    differences_ += (count_++ ? "; " : "") + place + ": compiled " +
                    (before.empty() ? "none" : quote(before)) + ", found " +
                    (now.empty() ? "none" : quote(now));
  }

  // Compare the words of a text, and use the numbers among them.
  void compare_words(const Fact & fact, const std::string & text) {
    const Names compiled = split(fact.text), found = split(text);
    const auto place = fact.subject + fact.path;
    const bool may_lack = std::all_of(compiled.begin(), compiled.end(), [](const auto & word) {
      return word[0] == '@' && (word.back() == '?' || word.back() == '!');
    });
    bool is_same = compiled.size() == found.size() || (found.empty() && may_lack);
    for (std::size_t k = 0; is_same && k < found.size(); k++) {
      const auto & word = compiled[k];
      double one, other;
      if (word[0] == '@' && word.back() != '!')
        set_number(place, find_number(word), found[k]);
      else
        is_same = word == "*" || word[0] == '@' || word == found[k] ||
                  (read_number(word, one) && read_number(found[k], other) && one == other);
    }
    if (!is_same) note_difference(place, describe_fact(fact.text), text);
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
    const auto found = info_.limits.find(joint);
    if (found == info_.limits.end()) return limits;
    const auto & given = found->second;
    if (given.has_position_limits) limits.values[lower] = given.min_position;
    if (given.has_position_limits) limits.values[upper] = given.max_position;
    if (given.has_velocity_limits) limits.values[of_velocity] = given.max_velocity;
    if (given.has_effort_limits) limits.values[of_effort] = given.max_effort;
    check_order(limits, "limits of joint " + quote(joint));
    return limits;
  }

  void read_limits() {
    for (int j = 0; j < n_joints; j++)
      if (setup_.owner_of_joint[j] >= 0) setup_.joint_limits[j] = find_limits(joint_names[j]);
    for (int a = 0; a < n_actuators; a++)
      if (setup_.owner[a] >= 0)
        check_order(setup_.actuator_limits[a], "limits of actuator " + quote(actuator_names[a]));
  }

  // Joints that only follow keep their limits: those of <mimic>, and all of a transmission with
  // fewer motors than joints.
  void find_followed() {
    for (const auto & mimic : setup_.mimics)
      if (const int t = setup_.owner_of_joint[mimic.joint]; t >= 0) add_followed(t, mimic);
    for (const int t : setup_.own)
      if (transmissions[t].owned.size() < transmissions[t].joints.size())
        for (const int j : transmissions[t].joints)
          add_followed(t, Mimic{joint_names[j], j, 1.0, 0.0});
  }

  void add_followed(int t, const Mimic & mimic) {
    if (info_.limits.find(mimic.name) == info_.limits.end()) return;
    setup_.followed.emplace_back(t, mimic);
    setup_.limits_of_followed.push_back(find_limits(mimic.name));
  }

  std::string read(const std::string & name, const std::string & otherwise) const {
    const auto found = info_.hardware_parameters.find(name);
    return found == info_.hardware_parameters.end() ? otherwise : found->second;
  }

  // Index of the text of a parameter among the possible ones; the first one is the default.
  std::size_t choose(const std::string & name, const Names & texts) const {
    const auto text = read(name, texts[0]);
    std::string expected;
    for (const auto & each : texts) expected += (expected.empty() ? "" : " or ") + each;
    require(contains(texts, text), "parameter " + quote(name), expected, quote(text));
    return static_cast<std::size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
  }

  double read_positive(const std::string & name, const std::string & otherwise) const {
    const auto place = "parameter " + quote(name);
    const double value = to_number(place, read(name, otherwise));
    require(value >= 0.0, place, "a number from zero on", write(value));
    return value;
  }

  void read_parameters() {
    for (const auto & [name, value] : info_.hardware_parameters) {
      for (const auto & ours : options_of_component) {
        const std::size_t most = ours.size() < 8 ? 1 : 2, edits = count_edits(name, ours);
        require(edits == 0 || edits > most, "parameter " + quote(name),
                quote(ours) + ", or a name of the driver that differs more", "another spelling");
      }
    }
    auto & options = setup_.options;
    options.driver_plugin = read("driver_plugin", "");
    require(!options.driver_plugin.empty(), "parameter 'driver_plugin'",
            "the plugin of the driver", "none");
    options.is_dry = choose("dry_run", {"false", "true"}) == 1;
    options.zero_effort = choose("zero_effort", {"false", "true"}) == 1;
    options.ends_by_error = choose("after_hold", {"deactivate", "error"}) == 1;
    const Choice limits[] = {Choice::clamp, Choice::reject, Choice::off};
    options.limits = limits[choose("limits", {"clamp", "reject", "off"})];
    const Choice steps[] = {Choice::warn, Choice::off, Choice::reject};
    options.max_step = steps[choose("max_step", {"warn", "off", "reject"})];
    options.ending_writes = info_.is_async ? 2 : 1;
    options.hold_timeout = read_positive("hold_timeout", "0.5");
    options.zero_max_velocity = read_positive("zero_max_velocity", "0.01");
    for (const auto & word : split(read("wrap_period", ""))) read_period(word);
  }

  void read_period(const std::string & word) {
    const auto middle = word.find('=');
    const std::string name = word.substr(0, middle);
    const std::string place = "parameter 'wrap_period', actuator " + quote(name);
    const int a = find_name(actuator_names, n_actuators, name);
    const int t = a < 0 ? -1 : setup_.owner[a];
    require(t >= 0 && transmissions[t].joints.size() == 1 && transmissions[t].owned.size() == 1,
            place, "the one actuator of one joint", "another name");
    const double period =
      to_number(place, middle == std::string::npos ? "" : word.substr(middle + 1));
    require(period > 0.0, place, "a number above zero", quote(word));
    setup_.periods[a] = period * std::abs(scales[a][position]);
  }

  const Info & info_;
  tinyxml2::XMLDocument document_;
  const XMLElement *robot_ = nullptr, *block_ = nullptr;
  Setup setup_{};
  std::string differences_;
  int count_ = 0;
};

// :raises std::runtime_error: if the component does not fit the compiled robot.
template <typename Info>
Setup read_setup(const Info & info) {
  return Reader<Info>(info).read();
}

// Add interfaces of a joint to its actuator. Bounds and first values are numbers of the joint.
template <typename Interfaces>
void add_interfaces(const Interfaces & of_joint, Interfaces & of_actuator) {
  for (auto each : of_joint) {
    const auto is_same = [&](const auto & known) { return known.name == each.name; };
    each.min = each.max = each.initial_value = "";
    if (std::none_of(of_actuator.begin(), of_actuator.end(), is_same)) of_actuator.push_back(each);
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
      const int t = setup.find_transmission(joint.name, a);
      if (t < 0) continue;
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
