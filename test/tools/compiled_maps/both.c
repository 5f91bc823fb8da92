// Copyright 2026 The transmission_bridge authors
//
// SPDX-License-Identifier: Apache-2.0
//
// Run the maps of two robots in one program on any numbers.
#include "a_map.h"
#include "b_map.h"
#include <string.h>
static a_map_state a;
static b_map_state b;
static uint64_t seed = 7;
static double any(void)
{
  double number;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  memcpy(&number, &seed, sizeof number);
  return (seed >> 33) % 3 ? number : (double)(int64_t)seed * 1e-18;
}
int main(void)
{
  double x[3][a_map_ACTUATORS], y[3][a_map_JOINTS], u[3][b_map_ACTUATORS], v[3][b_map_JOINTS];
  int k, i;
  char is_stated_size[sizeof(a_map_state) == BYTES ? 1 : -1];
  (void)is_stated_size;
  a_map_init(&a);
  b_map_init(&b);
  for (k = 0; k < COUNT; k++) {
    for (i = 0; i < 3 * a_map_ACTUATORS; i++) x[i / a_map_ACTUATORS][i % a_map_ACTUATORS] = any();
    a_map_to_joint(&a, (const double(*)[a_map_ACTUATORS])x, y);
    for (i = 0; i < 3 * a_map_JOINTS; i++) y[i / a_map_JOINTS][i % a_map_JOINTS] = any();
    a_map_to_actuator(&a, (const double(*)[a_map_JOINTS])y, y[2], x);
    for (i = 0; i < 3 * b_map_JOINTS; i++) v[i / b_map_JOINTS][i % b_map_JOINTS] = any();
    b_map_to_actuator(&b, (const double(*)[b_map_JOINTS])v, v[1], u);
    b_map_to_joint(&b, (const double(*)[b_map_ACTUATORS])u, v);
    a_map_set(&a, (a_map_number)(k % (a_map_NUMBERS + 2)), any());
  }
  return 0;
}
