/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_config.c - the table "config" of the region; see agent_config.h.
 */
#include "agent_config.h"

#include <errno.h>
#include <string.h>

#include "region_view.h"

int
agent_config_read(pid_t pid, struct config *settings)
{
	struct region_view view;
	int error = region_view_open(&view, pid);

	if (!error)
		error = region_view_table(&view, "config", settings,
					  sizeof(*settings));
	region_view_close(&view);
	if (error)
		return error;
	if (settings->directory[0] != '/' ||
	    !memchr(settings->directory, '\0', sizeof(settings->directory)) ||
	    settings->signal < 0 || settings->signal > 64)
		return -EPROTO;
	return 0;
}

int
agent_config_outside(pid_t pid, struct outside *outside)
{
	struct region_view view;
	int error = region_view_open(&view, pid);

	if (!error)
		error = region_view_table(&view, "outside", outside,
					  sizeof(*outside));
	region_view_close(&view);
	return error;
}
