/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_process.c - a process of its own to read files that nobody vouches
 * for.
 *
 * A library that gets no memory exits or crashes.
 */
#include "reader_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

static void
give_up(const char *what)
{
	fprintf(stderr, "heapagent: no process to read files in: %s: %s\n",
		what, strerror(errno));
	exit(1);
}

/* Of the reader's time. */
static volatile sig_atomic_t seconds_left;

/*
 * Ticks do not add up while it gets no processor, or while the command is
 * stopped: on a busy machine that lasts longer than any file should.
 */
static void
count_second(int signal_number)
{
	if (--seconds_left > 0)
		return;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/*
 * Not by setsid(): Linux gives each session the same share of the processors
 * (sched_autogroup), and one beside a busy session may get none for minutes.
 */
static void
leave_terminal(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return;
	ioctl(terminal, TIOCNOTTY);
	close(terminal);
}

/* Nothing from outside, and nothing seen outside but what the pipe takes. */
static void
seclude(void)
{
	struct rlimit files;
	const struct rlimit no_core = { 0, 0 };
	const struct sigaction tick = { .sa_handler = count_second,
					.sa_flags = SA_RESTART };
	sigset_t none;
	sigemptyset(&none);
	/* Who interrupts the command ends the reader, too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	leave_terminal();
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	setrlimit(RLIMIT_CORE, &no_core);
	/* Each mapping's files stay open. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigaction(SIGALRM, &tick, NULL);
	signal(SIGXCPU, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

struct reader_process
reader_process_start(void)
{
	struct reader_process process;
	int ends[2];
	/* What a library flushes when it exits must not be our output. */
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC))
		give_up("pipe");
	process.pid = fork();
	if (process.pid < 0)
		give_up("fork");
	bool child = !process.pid;
	if (child)
		seclude();
	close(ends[child ? 0 : 1]);
	process.pipe = fdopen(ends[child ? 1 : 0], child ? "w" : "r");
	if (!process.pipe)
		give_up("fdopen");
	/* As much as a pipe holds. */
	setvbuf(process.pipe, NULL, _IOFBF, 1 << 16);
	return process;
}

void
reader_process_limit(const struct reader_limits *limits)
{
	struct rusage used;
	struct rlimit processor;
	struct itimerval each_second = { .it_value.tv_sec = 0 };
	getrusage(RUSAGE_SELF, &used);
	uint64_t used_s =
		(uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1;
	if (!getrlimit(RLIMIT_CPU, &processor)) {
		processor.rlim_cur = used_s + limits->processor_s;
		if (processor.rlim_cur > processor.rlim_max)
			processor.rlim_cur = processor.rlim_max;
		setrlimit(RLIMIT_CPU, &processor);
	}
	memory_bound(limits->memory_bytes);
	seconds_left = (sig_atomic_t)limits->wall_s;
	if (limits->wall_s)
		each_second.it_interval.tv_sec = 1;
	each_second.it_value = each_second.it_interval;
	setitimer(ITIMER_REAL, &each_second, NULL);
}

void
reader_process_done(struct reader_process *process)
{
	/* Without exit(): the memory need not be freed piece by piece. */
	_exit(fclose(process->pipe) ? 1 : 0);
}

const char *
reader_process_end(struct reader_process *process)
{
	int status;
	/* If it has more to write, nobody wants it. */
	if (fgetc(process->pipe) != EOF)
		kill(process->pid, SIGKILL);
	fclose(process->pipe);
	while (waitpid(process->pid, &status, 0) < 0)
		if (errno != EINTR)
			return "its reader was lost";
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? "reading it takes too much memory"
					   : NULL;
	switch (WTERMSIG(status)) {
	case SIGXCPU:
	case SIGALRM:
		return "reading it takes too long";
	case SIGKILL:
		return "its reader was killed, perhaps for want of memory";
	default:
		return "it is damaged: reading it crashes";
	}
}
