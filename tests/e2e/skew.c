/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LD_PRELOAD: the clock of a machine that is CHAOS_SKEW seconds ahead. */
#include <sys/syscall.h>
#include <sys/time.h>

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long
skew(void)
{
	const char *seconds = getenv("CHAOS_SKEW");

	return seconds == NULL ? 0 : atol(seconds);
}

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	long status = syscall(SYS_clock_gettime, clock, ts);

	if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += skew();
	return (int)status;
}

int
gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *at)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (at != NULL)
		*at = ts.tv_sec;
	return ts.tv_sec;
}
