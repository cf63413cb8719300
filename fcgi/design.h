/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A design, and what may be in one: designs.c, design_resources.c and theme.c share it. */
#ifndef FCGI_DESIGN_H
#define FCGI_DESIGN_H

#include "fcgi/req.h"

/* Texts and numbers as they were checked; NULL and not set: as Kinothek itself looks. */
struct design_properties {
	const char *brand_color, *header_color, *background_color, *font, *font_file, *logo;
	struct number radius;
	/* of documents */
	const char *text_color, *heading_font, *header_text, *footer_text;
	struct number font_size;		/* points */
	struct strings omit;
};

/* A file, as the row of the design keeps it; the bytes are in design_resources. */
struct design_resource {
	const char *name, *mime_type, *url;
	int64_t size;
	struct number width, height;
	const char *hash;			/* of the bytes */
};
extern const struct record design_resource_record;

/* How a colour is used: what is written on it, and how text in it is changed so that it can be read. */
struct design_contrast {
	const char *property, *on, *light_text, *dark_text;
	double on_ratio, light_ratio, dark_ratio;
};

struct design {
	struct uuid id;
	const char *type, *name;
	bool is_main, is_template;
	struct nested properties;		/* struct design_properties, never NULL once loaded */
	struct list resources, contrast;	/* struct design_resource, struct design_contrast */
	const char *theme_url;
	struct moment created_at, updated_at;
	int64_t version;
	struct uuid tenant_id, principal_id;
};
extern const struct record design_record;

enum { DESIGNS_MAX = 200, DESIGN_RESOURCES_MAX = 20, DESIGN_RESOURCE_BYTES = 512 << 10 };

/* Fills the members that hold addresses and facts. */
void design_view(struct req *, struct design *);
/* The file of that name, or NULL. */
const struct design_resource *design_resource(const struct design *, const char *name);
/* Its bytes, n of them, or NULL: it is gone. */
const void *design_resource_bytes(struct db *, struct uuid design_id, const char *name, size_t *n);
/* Can a file be called so?  Letters, digits, and . _ - behind the first; not like a theme. */
bool design_resource_name(const char *name);

#endif
