/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_config.h - the settings that the agent in another process runs with.
 */
#ifndef HEAPAGENT_AGENT_CONFIG_H
#define HEAPAGENT_AGENT_CONFIG_H

#include <sys/types.h>

#include "config.h"
#include "outside.h"

/*
 * Copies the agent's settings out of its region. 0 or a negative errno: -EPERM
 * if the process's memory may not be read, -ENOENT if there is no region,
 * -EPROTO if it is of another version.
 */
int agent_config_read(pid_t pid, struct config *settings);

/* The same of what the agent says of its handler and its last dump. */
int agent_config_outside(pid_t pid, struct outside *outside);

#endif
