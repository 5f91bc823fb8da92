/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a walk, computed by transmission_bridge: a live number to set, or a sample with inputs,
 * measured positions (of a command) and outputs.
 */
#include <math.h>

enum { NAME_STEPS = @N_STEPS@ };

static const struct NAME_step {
  int which, is_command;
  uint32_t status;
} NAME_steps[] = {
@STEPS@
};

static const double NAME_vectors[] = {
@VECTORS@
};
