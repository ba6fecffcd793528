/* Media types of files by their name, and which of two the client prefers. */
#ifndef HTTP_MEDIA_TYPE_H
#define HTTP_MEDIA_TYPE_H

#include "http/message.h"

/* By the ending of the name, any case; "application/octet-stream" when unknown. Text types carry charset=utf-8. */
struct slice media_type_of(struct slice file_name);
/* Whether Accept prefers JSON over HTML (RFC 9110 12.5.1); no Accept or equal: false. */
bool media_type_prefers_json(const struct fields *);

#endif
