/*
 * A small file is read between two looks at its identity; when they differ it is opened
 * anew. Files whose size is a lie (/proc, /sys) are shown as what could be read.
 */
#include "handlers/static_entry.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/date.h"
#include "http/media_type.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOAD_TRIES = 4, FIELDS_BYTES = 384 };

enum outcome { OUTCOME_FINE, OUTCOME_CHANGED, OUTCOME_LONGER, OUTCOME_FAILED };

/* ---- fields ----------------------------------------------------------------------------- */

/* FNV-1a: makes the tag of a small file strong even when its stamps are not. */
static uint64_t hash_content(struct slice s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < s.length; i++)
		hash = (hash ^ (unsigned char)s.data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static size_t put_etag(const struct static_entry *e, char *to, size_t room)
{
	/* While stamps may be shared by two versions of a large file, its tag is no strong one (RFC 9110 8.8.1). */
	bool weak = e->fd >= 0 && e->is_racy;
	uint64_t version = e->fd >= 0 ? e->identity.inode : hash_content(e->content);
	return (size_t)snprintf(to, room, "%s\"%llx-%llx-%llx\"", weak ? "W/" : "",
	        (unsigned long long)e->identity.modified_ns, (unsigned long long)e->size, (unsigned long long)version);
}

static struct slice file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slice_of(slash ? slash + 1 : path);
}

static void put_fields(struct static_entry *e, char *to)
{
	time_t now = clock_wall_s(), modified = (time_t)(e->identity.modified_ns / NS_PER_S);
	/* RFC 9110 8.8.2.1: never later than the answer itself. */
	e->modified = modified < 0 ? 0 : modified > now ? now : modified;
	char date[DATE_BYTES];
	struct slice type = media_type_of(file_name(e->path));
	date_format(e->modified, date);
	int head = snprintf(to, FIELDS_BYTES, "Content-Type: %.*s\r\nAccept-Ranges: bytes\r\n", SLICE_ARGS(type));
	int length = head + snprintf(to + head, FIELDS_BYTES - (size_t)head,
	                            "Last-Modified: %.*s\r\nETag: ", DATE_BYTES, date);
	MUST(length + 64 < FIELDS_BYTES);
	size_t end = (size_t)length;
	e->etag = (struct slice){to + end, put_etag(e, to + end, FIELDS_BYTES - end)};
	end += e->etag.length;
	memcpy(to + end, "\r\n", 2);
	e->fields = (struct slice){to, end + 2};
	e->validators = slice_from(e->fields, (size_t)head);
}

/* ---- content ------------------------------------------------------------------------------ */

/* Reads to the end or until `room` is full. Returns how much, or a negative errno. */
static ssize_t read_all(int fd, char *to, size_t room)
{
	size_t length = 0;
	while (length < room) {
		ssize_t n = pread(fd, to + length, room - length, (off_t)length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

/* `room` is larger than the size by at least one, to see a file that is longer than it says. */
static enum outcome read_content(struct static_entry *e, int fd, char *to, size_t room)
{
	struct file_identity after;
	ssize_t n = read_all(fd, to, room);
	if (n < 0 || !static_file_identify(fd, &after))
		return OUTCOME_FAILED;
	if (memcmp(&after, &e->identity, sizeof after) != 0)
		return OUTCOME_CHANGED;
	if ((size_t)n == room)
		return OUTCOME_LONGER;
	/* Whose size is a lie, its stamps say nothing either. */
	e->is_racy |= n != e->size;
	e->size = n;
	e->content = (struct slice){to, (size_t)n};
	return OUTCOME_FINE;
}

/* ---- entries -------------------------------------------------------------------------------- */

static char *keep(char **at, const char *bytes, size_t length)
{
	char *kept = *at;
	if (length)
		memcpy(kept, bytes, length);
	kept[length] = 0;
	*at += length + 1;
	return kept;
}

static struct static_entry *make(const struct static_file *file, struct slice rest, size_t room, char **ret_free)
{
	size_t path_length = strlen(file->path),
	       bytes = sizeof(struct static_entry) + rest.length + 1 + path_length + 1 + FIELDS_BYTES + room;
	struct static_entry *e = malloc(bytes);
	if (!e)
		return NULL;
	*e = (struct static_entry){
	        .references = 1,
	        .is_racy = file->is_racy,
	        .fd = -1,
	        .size = file->identity.size,
	        .identity = file->identity,
	        .index_number = file->index_number,
	        .index_at = file->index_at,
	        .bytes = bytes,
	};
	*ret_free = e->memory;
	e->key = (struct slice){keep(ret_free, rest.data, rest.length), rest.length};
	e->path = keep(ret_free, file->path, path_length);
	return e;
}

/* Takes over file->fd, also when it fails. */
static enum outcome fill(struct static_file *file, struct slice rest, size_t least_room, struct static_entry **ret)
{
	bool is_small = file->identity.size <= STATIC_SMALL_BYTES;
	size_t room = !is_small ? 0 : (size_t)file->identity.size + 1;
	if (is_small && room < least_room)
		room = least_room;
	char *free_memory;
	struct static_entry *e = make(file, rest, room, &free_memory);
	enum outcome outcome = !e ? OUTCOME_FAILED : OUTCOME_FINE;
	if (e && is_small)
		outcome = read_content(e, file->fd, free_memory + FIELDS_BYTES, room);
	if (outcome != OUTCOME_FINE || is_small) {
		fd_close(&file->fd);
		if (outcome != OUTCOME_FINE) {
			free(e);
			return outcome;
		}
	} else {
		e->fd = file->fd;
	}
	put_fields(e, free_memory);
	*ret = e;
	return OUTCOME_FINE;
}

struct static_entry *static_entry_load(
        const struct static_site *site, struct slice rest, unsigned *ret_status, int *ret_root_error)
{
	struct static_file file;
	struct static_entry *e;
	size_t least_room = 0;
	for (int try = 0; try < LOAD_TRIES; try++) {
		unsigned status = static_file_open(site, rest, &file, ret_root_error);
		if (status) {
			*ret_status = status;
			return NULL;
		}
		enum outcome outcome = fill(&file, rest, least_room, &e);
		if (outcome == OUTCOME_FINE)
			return e;
		if (outcome == OUTCOME_FAILED || (outcome == OUTCOME_LONGER && least_room))
			break;
		if (outcome == OUTCOME_LONGER)
			least_room = STATIC_SMALL_BYTES + 1;
	}
	/* Unreadable, for ever changing, or longer than it says and not small. */
	*ret_status = 500;
	return NULL;
}
