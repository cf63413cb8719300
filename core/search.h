/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of assets can be searched: passages of text in layers, and which words they have.  Both tables are derived: the
 * job `index` makes them anew after every change of what they are made of (core/search_index.h), and nobody else writes
 * them.  Who may see what is not in them; it is asked of the asset when somebody searches.
 *
 * Whoever writes "media.created", "media.updated" or "metadata.updated" has nothing more to do: events (core/event.h)
 * call search_told(), so that a change which is told is also found.
 *
 * Columns of SEARCH_LAYERS: number, kept in rows; name in the interface; whether it is derived data, which needs
 * ViewMetadata; how much a word there counts; the word in the data of an event that says it may have changed; and the
 * rows text, start, end (seconds) and page of an asset, which is its one bind.  Texts of any length are MEDIUMTEXT:
 * what is too long for its column in a JSON_TABLE is NULL, and so not found.  A further layer is a further line.
 */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H

#include "core/db.h"

/* Things that an analysis names, of that kind of metadata, each with its first instance. */
#define SEARCH_NAMED_SQL(kind, member) \
	"SELECT j.text, j.start, j.end, j.page FROM metadata m JOIN JSON_TABLE(m.data, '$.items[*]' COLUMNS (text TEXT PATH " \
	"'$." member "', start DOUBLE PATH '$.instances[0].start', end DOUBLE PATH '$.instances[0].end', page INT PATH " \
	"'$.instances[0].page')) j WHERE m.media_id = ? AND m.kind = '" kind "'"

/* Is a speaker s called by its own name?  Not if its voice is forgotten with its names (core/voices.h), or if it is a
 * part of one that is called otherwise, or forgotten. */
#define SEARCH_CALLED_SQL \
	"s.forgotten_at = 0 AND NOT EXISTS (SELECT 1 FROM voices v WHERE v.id = s.voice_id AND v.takes_names = 1) AND NOT " \
	"EXISTS (SELECT 1 FROM speakers o WHERE o.id = s.merged_into AND (o.label IS NOT NULL OR o.forgotten_at <> 0))"

/* Of those that no engine of this installation makes the table has no rows: nothing is found in them. */
#define SEARCH_LAYERS(L) \
	L(NAME, 1, "name", false, 8, "name", \
	    "SELECT m.name AS text, NULL AS start, NULL AS end, NULL AS page FROM media m WHERE m.id = ?") \
	L(DESCRIPTION, 2, "description", false, 3, "description", \
	    "SELECT m.description AS text, NULL AS start, NULL AS end, NULL AS page FROM media m WHERE m.id = ? AND " \
	    "m.description IS NOT NULL") \
	L(TAG, 3, "tag", false, 6, "tags", \
	    "SELECT j.text, NULL AS start, NULL AS end, NULL AS page FROM media m JOIN JSON_TABLE(m.tags, '$[*]' COLUMNS " \
	    "(text VARCHAR(255) PATH '$')) j WHERE m.id = ?") \
	L(TRANSCRIPT, 4, "transcript", true, 1, "transcripts", \
	    "SELECT j.text, j.start, j.end, NULL AS page FROM transcripts m JOIN JSON_TABLE(m.paragraphs, '$[*]' COLUMNS (text " \
	    "MEDIUMTEXT PATH '$.text', start DOUBLE PATH '$.start', end DOUBLE PATH '$.end')) j WHERE m.media_id = ? AND " \
	    "m.status = 'completed'") \
	L(DOCUMENT_CONTENT, 5, "document_content", true, 1, "documentContent", \
	    "SELECT j.text, NULL AS start, NULL AS end, j.page FROM metadata m JOIN JSON_TABLE(m.data, '$.pages[*]' " \
	    "COLUMNS (text MEDIUMTEXT PATH '$.text', page INT PATH '$.page')) j WHERE m.media_id = ? AND m.kind = " \
	    "'documentContent'") \
	L(VIDEO_TEXT, 6, "video_text", true, 1, "videoTexts", \
	    "SELECT j.text, j.start, j.end, NULL AS page FROM metadata m JOIN JSON_TABLE(m.data, '$.items[*]' COLUMNS (text " \
	    "MEDIUMTEXT PATH '$.text', start DOUBLE PATH '$.instances[0].start', end DOUBLE PATH '$.instances[0].end')) j " \
	    "WHERE m.media_id = ? AND m.kind = 'videoTexts'") \
	L(IMAGE_TEXT, 7, "image_text", true, 1, "imageTexts", \
	    "SELECT j.text, NULL AS start, NULL AS end, NULL AS page FROM metadata m JOIN JSON_TABLE(m.data, '$.items[*]' " \
	    "COLUMNS (text MEDIUMTEXT PATH '$.text')) j WHERE m.media_id = ? AND m.kind = 'imageTexts'") \
	L(KEYWORD, 8, "keywords", true, 4, "keywords", SEARCH_NAMED_SQL("keywords", "name")) \
	L(ENTITY, 9, "entities", true, 4, "entities", SEARCH_NAMED_SQL("entities", "name")) \
	L(SPEAKER, 10, "speakers", true, 4, "speakers", \
	    "SELECT s.label AS text, j.start, j.end, NULL AS page FROM media_speakers m JOIN speakers s ON s.id = m.speaker_id " \
	    "JOIN JSON_TABLE(m.turns, '$' COLUMNS (start DOUBLE PATH '$[0].start', end DOUBLE PATH '$[0].end')) j WHERE " \
	    "m.media_id = ? AND s.label IS NOT NULL AND " SEARCH_CALLED_SQL) \
	L(OBJECT, 11, "objects", true, 1, "objects", SEARCH_NAMED_SQL("objects", "name")) \
	L(ACTION, 12, "actions", true, 1, "actions", SEARCH_NAMED_SQL("actions", "name")) \
	L(EXIF, 13, "exif_metadata", true, 1, "file", \
	    "SELECT CONCAT_WS(' ', JSON_VALUE(m.data, '$.title'), JSON_VALUE(m.data, '$.cameraMake'), JSON_VALUE(m.data, " \
	    "'$.cameraModel'), JSON_VALUE(m.data, '$.takenAt')) AS text, NULL AS start, NULL AS end, NULL AS page FROM " \
	    "metadata m WHERE m.media_id = ? AND m.kind = 'file'")

/* Of a row of search_words or search_passages: does it hold?  A name does as long as somebody in the asset is called
 * so, whatever the job has not come to yet.  Until then a word that another name in the asset has, too, is not found by
 * it. */
#define SEARCH_HOLDS_SQL(row) \
	"(" row ".layer <> 10 OR EXISTS (SELECT 1 FROM search_passages p STRAIGHT_JOIN media_speakers m ON m.media_id = " \
	"p.media_id STRAIGHT_JOIN speakers s ON s.id = m.speaker_id AND s.label = p.text WHERE p.media_id = " row ".media_id " \
	"AND p.layer = 10 AND p.passage = " row ".passage AND " SEARCH_CALLED_SQL "))"

enum search_layer {
#define SEARCH_ENUM(id, number, name, derived, weight, word, sql) SEARCH_##id = number,
	SEARCH_LAYERS(SEARCH_ENUM)
#undef SEARCH_ENUM
};

/* An event was written in this transaction: data is its JSON, or NULL. */
void search_told(struct db *, struct uuid media_id, const char *type, const char *data);
/* The asset is to be indexed anew by a job, in the caller's transaction: one that has not begun yet does for all
 * changes.  PRIORITY_BULK where many are. */
void search_changed(struct db *, struct uuid media_id, int priority);

/* The same, even where its texts have not changed: what the index holds of it counts for nothing. */
void search_renew(struct db *, struct uuid media_id, int priority);

#endif
