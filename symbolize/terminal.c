/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - output for a person; see terminal.h.
 */
#include "terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "units.h"

/* The widest table, diff's, leaves half of them to the names. */
#define WIDE_COLUMNS 140

static const char usual_pager[] =
	"if command -v less >/dev/null; then exec less; else exec cat; fi";

static bool
wants_colour(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(none && *none) && term && strcmp(term, "dumb") != 0;
}

/* COLUMNS, where it is set, is what the user wants to have. */
static bool
is_narrow(void)
{
	const char *wish = getenv("COLUMNS");
	struct winsize size;
	int columns = wish ? atoi(wish) : 0;
	if (columns <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		columns = size.ws_col;
	/* What does not say its size is like a real one: 80 columns. */
	return columns < WIDE_COLUMNS;
}

static bool
is_utf8(void)
{
	return setlocale(LC_CTYPE, "") &&
	       !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static void
start_pager(struct terminal *terminal, const char *pager)
{
	int ends[2];
	if (pipe(ends))
		return;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* Ends at once what fits the screen; passes colours on. */
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", pager, NULL);
		_exit(127);
	}
	if (pid > 0) {
		/* Who quits the pager wants no more, and no message. */
		signal(SIGPIPE, SIG_IGN);
		/*
		 * The terminal sends them to both. In a pager they end a search
		 * or a wait; it would lose its keyboard to the shell if the
		 * command that the shell waits for ended.
		 */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
		terminal->pager_pid = (int)pid;
	}
	close(ends[0]);
	close(ends[1]);
}

void
terminal_begin(struct terminal *terminal, bool plain)
{
	const char *pager = getenv("PAGER");
	if (!isatty(STDOUT_FILENO))
		return;
	terminal->colour = wants_colour() && !plain;
	terminal->narrow = is_narrow();
	if (!plain && !is_utf8())
		units_use_ascii();
	if (!pager)
		start_pager(terminal, usual_pager);
	else if (*pager && strcmp(pager, "cat") != 0)
		start_pager(terminal, pager);
}

bool
terminal_end(struct terminal *terminal)
{
	bool lost = fflush(stdout) || ferror(stdout);
	int error = errno;
	if (terminal->pager_pid) {
		clearerr(stdout);
		close(STDOUT_FILENO);
		while (waitpid(terminal->pager_pid, NULL, 0) < 0 &&
		       errno == EINTR)
			;
		lost = false;
	}
	errno = error;
	return !lost;
}

void
terminal_figure(const struct terminal *terminal, const char *text, int wide,
		int narrow)
{
	char packed[UNITS_CHANGE_BYTES];
	size_t used = 0;
	for (const char *c = text; *c && used + 1 < sizeof(packed); c++)
		if (!terminal->narrow || *c != ' ')
			packed[used++] = *c;
	packed[used] = '\0';
	int width = terminal->narrow ? narrow : wide;
	int columns = (int)units_columns(packed);
	printf("%*s%s", columns < width ? width - columns : 1, "", packed);
}

void
terminal_rule(int columns)
{
	while (columns-- > 0)
		putchar('-');
	putchar('\n');
}
