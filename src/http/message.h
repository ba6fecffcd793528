/* Heads of requests and responses: what the parser fills in and everybody reads. All slices point into the bytes that
 * were parsed, but for the path of an absolute-form target that has none, which is a constant. */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "base/slice.h"
#include <stdint.h>

enum method {
	METHOD_UNKNOWN, /* a token that is no method we know: 501 (RFC 9110 9.1) */
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_DELETE,
	METHOD_CONNECT,
	METHOD_OPTIONS,
	METHOD_TRACE,
	METHOD_PATCH,
	METHOD_OTHER, /* known to the library (WebDAV and such), told apart by name only */
};

/* Fields that the server itself looks at; found once, while parsing. */
enum field_id {
	FIELD_OTHER,
#define FIELD(id, name, first, last) FIELD_##id,
#include "http/fields.def"
#undef FIELD
	FIELD_ID_COUNT,
};

struct field {
	struct slice name, value; /* value trimmed */
	enum field_id id;
};

struct fields {
	struct field *items; /* room for `capacity`, owned by whoever owns the head */
	size_t count, capacity;
	uint32_t seen; /* bit 1 << id of every known field present */
};

/* By name, any case. */
enum field_id field_id_of(struct slice name);
/* First field of that id; false: none. Cheap when it is absent. */
bool fields_find(const struct fields *, enum field_id, struct slice *ret_value);
/* First field of that name, any case. */
bool fields_find_name(const struct fields *, struct slice name, struct slice *ret_value);
/* The first cookie of that name (exact case) in any Cookie field. */
bool fields_find_cookie(const struct fields *, struct slice name, struct slice *ret_value);
/* Whether a comma list of all fields of that id has this member, any case. */
bool fields_have_member(const struct fields *, enum field_id, struct slice member);

enum { LENGTH_NONE = 0, LENGTH_UNKNOWN = -1 };

struct request_head {
	enum method method;
	struct slice method_text, target;
	int minor; /* HTTP/1.minor: 0, or 1 for 1.1 and later 1.x */
	struct fields fields;
	struct slice host;     /* Host, or the authority of an absolute-form target; empty when absent (1.0) */
	struct slice path;     /* of the target, raw, without query; "*" for OPTIONS *; empty for CONNECT */
	struct slice query;    /* raw, without '?'; data NULL: none */
	int64_t body_length;   /* bytes; LENGTH_UNKNOWN: chunked; 0: no body */
	bool keep_alive;       /* by version and Connection */
	bool expects_continue; /* Expect: 100-continue on HTTP/1.1, with a body announced */
	bool upgrades;         /* Connection names upgrade and Upgrade is there */
	bool has_absolute_target;
};

struct response_head {
	unsigned status;
	int minor;
	struct slice reason;
	struct fields fields;
	int64_t body_length; /* bytes; LENGTH_UNKNOWN: chunked or until close */
	bool chunked;
	bool until_close; /* neither length nor chunked: the body ends with the connection */
	bool keep_alive;
};

#endif
