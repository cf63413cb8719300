/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Office files to PDF by LibreOfficeKit: LibreOffice as a library, loaded when it is there.  The program soffice would
 * need a socket to itself, which the jail refuses.  Built without its header there is no converter.
 */
#include <stdbool.h>	/* which the header below needs, and does not have */
#include <stdio.h>
#include <unistd.h>

#include "media/office.h"

#if __has_include(<LibreOfficeKit/LibreOfficeKitInit.h>)
#include <LibreOfficeKit/LibreOfficeKitInit.h>

enum reason
office_pdf(const char *place, const char *format)
{
	char dir[4096], profile[4200], source[4200], pdf[4200];
	LibreOfficeKit *kit;
	LibreOfficeKitDocument *document;

	if (getcwd(dir, sizeof(dir)) == NULL)
		return REASON_INTERNAL;
	/* A profile of its own: two runs on one profile end each other. */
	snprintf(profile, sizeof(profile), "file://%s/profile", dir);
	snprintf(source, sizeof(source), "file://%s/document.%s", dir, format);
	snprintf(pdf, sizeof(pdf), "file://%s/document.pdf", dir);
	kit = lok_init_2(place, profile);
	if (kit == NULL) {
		fputs("LibreOffice does not start\n", stderr);
		return REASON_INTERNAL;
	}
	document = kit->pClass->documentLoad(kit, source);
	if (document == NULL) {
		fprintf(stderr, "%s\n", kit->pClass->getError(kit));
		return REASON_DECODE_FAILED;
	}
	return document->pClass->saveAs(document, pdf, "pdf", NULL) ? REASON_NONE : REASON_DECODE_FAILED;
}
#else
enum reason
office_pdf(const char *place, const char *format)
{
	return REASON_CONVERTER_MISSING;
}
#endif
