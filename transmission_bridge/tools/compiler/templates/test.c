/* SPDX-License-Identifier: Apache-2.0
 *
 * Compare the maps with those of transmission_bridge. The argument is the tolerance, 1e-11 by
 * default: another libm differs in the last bits.
 */
#include "NAME.h"
#include "NAME_vectors.h"

#include <stdio.h>
#include <stdlib.h>

static NAME_state state;

static int differ(const double *found, const double *expected, int count, double tolerance)
{
  int k;

  for (k = 0; k < count; k++) {
    if (isnan(found[k]) != isnan(expected[k])) {
      return 1;
    }
    if (fabs(found[k] - expected[k]) > tolerance * (1.0 + fabs(expected[k]))) {
      return 1;
    }
  }
  return 0;
}

int main(int argc, char **argv)
{
  const double tolerance = argc > 1 ? strtod(argv[1], NULL) : 1e-11;
  const double *next = NAME_vectors;
  double joint[3][NAME_JOINTS], actuator[3][NAME_ACTUATORS];
  int step, wrong = 0;

  NAME_init(&state);
  for (step = 0; step < NAME_STEPS; step++) {
    const struct NAME_step *now = &NAME_steps[step];
    uint32_t status;
    int failed;

    if (now->which >= 0) {
      failed = NAME_set(&state, (NAME_number)now->which, *next) != 0;
      next += 1;
    } else if (now->is_command) {
      status = NAME_to_actuator(&state, (const double(*)[NAME_JOINTS])next,
                                next + 3 * NAME_JOINTS, actuator);
      next += 4 * NAME_JOINTS;
      failed = status != now->status || differ(actuator[0], next, 3 * NAME_ACTUATORS, tolerance);
      next += 3 * NAME_ACTUATORS;
    } else {
      status = NAME_to_joint(&state, (const double(*)[NAME_ACTUATORS])next, joint);
      next += 3 * NAME_ACTUATORS;
      failed = status != now->status || differ(joint[0], next, 3 * NAME_JOINTS, tolerance);
      next += 3 * NAME_JOINTS;
    }
    if (failed) {
      wrong++;
      printf("NAME: step %d differs\n", step);
    }
  }
  printf("NAME: %d steps, %d differ\n", NAME_STEPS, wrong);
  return wrong != 0;
}
