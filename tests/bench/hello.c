/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least a FastCGI program can do, on the same library: the measure that the API is held against.  A body it throws
 * away, which is the least that can be done with an upload. */
#include <fcgiapp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void
serve(int fd)
{
	static char piece[1 << 16];
	FCGX_Request request;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (FCGX_InitRequest(&request, fd, 0) != 0)
		exit(1);
	while (FCGX_Accept_r(&request) == 0) {
		while (FCGX_GetStr(piece, sizeof(piece), request.in) > 0)
			continue;
		FCGX_PutS("Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n", request.out);
		FCGX_Finish_r(&request);
	}
	exit(0);
}

int
main(int argc, char **argv)
{
	int fd, workers;

	if (argc != 3 || (workers = atoi(argv[2])) < 1) {
		fprintf(stderr, "usage: hello SOCKET WORKERS\n");
		return 64;
	}
	FCGX_Init();
	signal(SIGTERM, SIG_DFL);	/* libfcgi has taken it, and an idle program would never end */
	if ((fd = FCGX_OpenSocket(argv[1], 1024)) < 0) {
		fprintf(stderr, "hello: cannot listen on %s\n", argv[1]);
		return 71;
	}
	chmod(argv[1], 0666);
	for (; workers > 0; workers--)
		if (fork() == 0)
			serve(fd);
	while (wait(NULL) > 0)
		continue;
	return 0;
}
