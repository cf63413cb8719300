/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channel that each user has. */
#include "core/audit.h"
#include "core/channel.h"
#include "core/role.h"

struct own { struct uuid id; const char *name; };
static const struct field own_fields[] = {
	FIELD(struct own, id, .doc = "User, or its channel"),
	FIELD(struct own, name, .doc = "Its name"),
};
static const struct record own_record = RECORD("OwnChannel", struct own, own_fields);

static const struct own *
find(struct db *db, struct uuid user_id)
{
	return db_row(db, &own_record, "FROM channels t WHERE t.user_id = ?", ARGS(ID(user_id)));
}

static void
make(struct db *db, struct uuid tenant_id, const struct own *user, struct uuid id)
{
	struct arg now = TIME(moment_now());

	db_run(db, "INSERT INTO channels (id, tenant_id, name, type, user_id, created_at, updated_at) VALUES (?, ?, ?, "
	    "'user', ?, ?, ?) ON DUPLICATE KEY UPDATE user_id = VALUES(user_id)", ARGS(ID(id), ID(tenant_id),
	    STR(user->name), ID(user->id), now, now));
}

struct uuid
channel_of_user(struct db *db, struct uuid tenant_id, struct uuid principal_id, const char *address)
{
	const struct own *user = db_row(db, &own_record, "FROM principals t WHERE t.id = ? AND t.tenant_id = ? AND "
	    "t.kind = 'user'", ARGS(ID(principal_id), ID(tenant_id))), *channel;
	struct uuid id = uuid_new();

	if (user == NULL)
		return (struct uuid){ { 0 } };
	if ((channel = find(db, principal_id)) != NULL)
		return channel->id;
	make(db, tenant_id, user, id);
	channel = find(db, principal_id);
	if (channel == NULL || !uuid_equal(channel->id, id))	/* failed, or somebody else was first */
		return channel != NULL ? channel->id : (struct uuid){ { 0 } };
	db_run(db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, "
	    "'Channel Owner', ?)", ARGS(ID(id), ID(principal_id), TIME(moment_now())));
	audit_add(db, &(struct audited){ tenant_id, principal_id, id, address, "channel.created", NULL });
	role_changed(db, tenant_id);
	return id;
}
