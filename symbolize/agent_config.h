/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_config.h - the settings that the agent in another process runs with.
 */
#ifndef HEAPAGENT_AGENT_CONFIG_H
#define HEAPAGENT_AGENT_CONFIG_H

#include "config.h"
#include "process.h"

/*
 * Copies the agent's `config` from the process. 0 or a negative errno: -EPERM
 * if its memory may not be read, -ENOENT if the library on disk is not the one
 * that is loaded, has no symbols, or is of another version.
 */
int agent_config_read(const struct process *process, struct config *settings);

#endif
