// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0

// What a hardware component in C++ does with every sample, built the way transmission libraries
// are: the component owns the values of each interface, transmissions are objects with handles to
// those values, an interface is mapped where it is bound on both sides, and formulas stand as in
// the textbook. benchmarks/maps.py compiles and drives it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace
{

class Handle
{
public:
  explicit Handle(double * value)
  : value_(value) {}

  double get() const
  {
    if (!value_) {
      throw std::runtime_error("handle is not bound");
    }
    return *value_;
  }

  void set(double value)
  {
    if (!value_) {
      throw std::runtime_error("handle is not bound");
    }
    *value_ = value;
  }

private:
  double * value_;
};

enum Interface { POSITION, VELOCITY, EFFORT, COUNT };

class Transmission
{
public:
  std::array<std::vector<Handle>, COUNT> actuator, joint;

  virtual ~Transmission() = default;
  virtual void actuator_to_joint() = 0;

protected:
  bool is_bound(Interface interface, std::size_t count) const
  {
    return actuator[interface].size() == count && joint[interface].size() == count;
  }
};

class Simple : public Transmission
{
public:
  explicit Simple(const double * n)
  : reduction_(n[0]), offset_(n[4]) {}

  void actuator_to_joint() override
  {
    if (is_bound(POSITION, 1)) {
      joint[POSITION][0].set(actuator[POSITION][0].get() / reduction_ + offset_);
    }
    if (is_bound(VELOCITY, 1)) {
      joint[VELOCITY][0].set(actuator[VELOCITY][0].get() / reduction_);
    }
    if (is_bound(EFFORT, 1)) {
      joint[EFFORT][0].set(actuator[EFFORT][0].get() * reduction_);
    }
  }

private:
  double reduction_, offset_;
};

class Pair : public Transmission
{
public:
  explicit Pair(const double * n)
  : ar_{n[0], n[1]}, jr_{n[2], n[3]}, offset_{n[4], n[5]} {}

  void actuator_to_joint() override
  {
    if (is_bound(POSITION, 2)) {
      map_rate(actuator[POSITION], joint[POSITION], offset_[0], offset_[1]);
    }
    if (is_bound(VELOCITY, 2)) {
      map_rate(actuator[VELOCITY], joint[VELOCITY], 0.0, 0.0);
    }
    if (is_bound(EFFORT, 2)) {
      map_effort(actuator[EFFORT], joint[EFFORT]);
    }
  }

protected:
  using Handles = std::vector<Handle>;
  virtual void map_rate(Handles & a, Handles & j, double offset_1, double offset_2) = 0;
  virtual void map_effort(Handles & a, Handles & j) = 0;

  double ar_[2], jr_[2], offset_[2];
};

class Differential : public Pair
{
public:
  using Pair::Pair;

protected:
  void map_rate(Handles & a, Handles & j, double offset_1, double offset_2) override
  {
    const double first = a[0].get() / ar_[0], second = a[1].get() / ar_[1];
    j[0].set((first + second) / (2.0 * jr_[0]) + offset_1);
    j[1].set((first - second) / (2.0 * jr_[1]) + offset_2);
  }

  void map_effort(Handles & a, Handles & j) override
  {
    const double first = a[0].get() * ar_[0], second = a[1].get() * ar_[1];
    j[0].set(jr_[0] * (first + second));
    j[1].set(jr_[1] * (first - second));
  }
};

class FourBarLinkage : public Pair
{
public:
  using Pair::Pair;

protected:
  void map_rate(Handles & a, Handles & j, double offset_1, double offset_2) override
  {
    const double first = a[0].get() / (jr_[0] * ar_[0]);
    j[0].set(first + offset_1);
    j[1].set((a[1].get() / ar_[1] - first) / jr_[1] + offset_2);
  }

  void map_effort(Handles & a, Handles & j) override
  {
    j[0].set(jr_[0] * a[0].get() * ar_[0] + a[1].get() * ar_[1]);
    j[1].set(jr_[1] * a[1].get() * ar_[1]);
  }
};

}  // namespace

struct Component
{
  std::array<std::vector<double>, COUNT> actuator, joint;
  std::vector<std::unique_ptr<Transmission>> transmissions;
};

extern "C" {

Component * component_new(std::size_t actuators, std::size_t joints)
{
  auto * component = new Component;
  for (int k = 0; k < COUNT; ++k) {
    component->actuator[k].resize(actuators);
    component->joint[k].resize(joints);
  }
  return component;
}

// kind: 0 simple, 1 differential, 2 four-bar; numbers: ar1 ar2 jr1 jr2 off1 off2
void component_add(
  Component * component, int kind, const std::size_t * actuators, const std::size_t * joints,
  const double * numbers)
{
  std::unique_ptr<Transmission> transmission;
  if (kind == 0) {
    transmission = std::make_unique<Simple>(numbers);
  } else if (kind == 1) {
    transmission = std::make_unique<Differential>(numbers);
  } else {
    transmission = std::make_unique<FourBarLinkage>(numbers);
  }
  for (int k = 0; k < COUNT; ++k) {
    for (int member = 0; member < (kind == 0 ? 1 : 2); ++member) {
      transmission->actuator[k].emplace_back(&component->actuator[k][actuators[member]]);
      transmission->joint[k].emplace_back(&component->joint[k][joints[member]]);
    }
  }
  component->transmissions.push_back(std::move(transmission));
}

// in, out: position, velocity, effort, each (samples, actuators or joints); a step of zero rows
// maps the first sample again and again.
void component_run(
  Component * component, const double * const * in, double * const * out, std::size_t samples,
  std::size_t step)
{
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (int k = 0; k < COUNT; ++k) {
      const std::size_t n = component->actuator[k].size();
      std::copy_n(in[k] + sample * step * n, n, component->actuator[k].begin());
    }
    for (const auto & transmission : component->transmissions) {
      transmission->actuator_to_joint();
    }
    for (int k = 0; k < COUNT; ++k) {
      const std::size_t n = component->joint[k].size();
      std::copy_n(component->joint[k].begin(), n, out[k] + sample * step * n);
    }
  }
}

void component_delete(Component * component) {delete component;}

}  // extern "C"
