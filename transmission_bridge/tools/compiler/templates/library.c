/* SPDX-License-Identifier: Apache-2.0
 *
 * How transmission_bridge finds the maps in the shared library.
 */
#include "NAME.h"

#include <stddef.h>

/* JSON. */
static const char description[] = {
@DESCRIPTION@
};

struct transmission_bridge_library {
  int abi, n_actuators, n_joints, n_transmissions, n_numbers;
  size_t state_size, status_at, values_at;
  const char *description;
  void (*init)(NAME_state *);
  int (*set)(NAME_state *, NAME_number, double);
  uint32_t (*to_joint)(NAME_state *, const double (*)[NAME_ACTUATORS], double (*)[NAME_JOINTS]);
  uint32_t (*to_actuator)(NAME_state *, const double (*)[NAME_JOINTS], const double *,
                          double (*)[NAME_ACTUATORS]);
  const char *(*reason_text)(int);
};

const struct transmission_bridge_library transmission_bridge_library;

const struct transmission_bridge_library transmission_bridge_library = {
  NAME_ABI, NAME_ACTUATORS, NAME_JOINTS, NAME_TRANSMISSIONS, NAME_NUMBERS,
  sizeof(NAME_state), offsetof(NAME_state, status), offsetof(NAME_state, values),
  description, NAME_init, NAME_set, NAME_to_joint, NAME_to_actuator, NAME_reason_text
};
