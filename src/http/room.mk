noinst_LIBRARIES += src/http/libhttp.a
src_http_libhttp_a_SOURCES = \
	src/http/authority.c \
	src/http/byte.c src/http/byte.h \
	src/http/chunked.c src/http/chunked.h \
	src/http/collect.c src/http/collect.h \
	src/http/conditional.c src/http/conditional.h \
	src/http/date.c src/http/date.h \
	src/http/fields.c src/http/fields.def src/http/message.h \
	src/http/framing.c src/http/framing.h \
	src/http/llhttp_choice.h \
	src/http/media_type.c src/http/media_type.h src/http/media_types.def \
	src/http/methods.def \
	src/http/parser.h \
	src/http/query.c src/http/query.h \
	src/http/range.c src/http/range.h \
	src/http/refusal.h \
	src/http/request.c \
	src/http/response.c \
	src/http/scan.c \
	src/http/status.c src/http/status.h src/http/statuses.def \
	src/http/trailers.c src/http/trailers.h \
	src/http/uri.c src/http/uri.h \
	src/http/websocket.c src/http/websocket.h
src_http_libhttp_a_CPPFLAGS = $(AM_CPPFLAGS) $(LLHTTP_CFLAGS)
src_http_libhttp_a_LIBADD =

if LLHTTP_SSE42
src_http_libhttp_a_SOURCES += src/http/llhttp_both.c
else
src_http_libhttp_a_SOURCES += src/http/llhttp_one.c
endif

# llhttp's sources lie outside of this tree and are not distributed: objects by explicit rules, at -O3, which is where its
# speed comes from. The second build gets a prefix before every name that the sources contain, types too.
if LLHTTP_BUNDLED
LLHTTP_SOURCE_DIR = $(LLHTTP_DIR)/usr/share/llhttp
LLHTTP_HEADER = $(LLHTTP_DIR)/usr/share/include/llhttp/llhttp.h
LLHTTP_COMPILE = $(CC) $(LLHTTP_CFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(SANITIZE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -O3 -c -o $@

src_http_libhttp_a_LIBADD += src/http/llhttp_api.o src/http/llhttp_http.o src/http/llhttp_llhttp.o

src/http/llhttp_api.o: $(LLHTTP_SOURCE_DIR)/api.c $(LLHTTP_HEADER)
	$(AM_V_CC)$(MKDIR_P) src/http && $(LLHTTP_COMPILE) $(LLHTTP_SOURCE_DIR)/api.c
src/http/llhttp_http.o: $(LLHTTP_SOURCE_DIR)/http.c $(LLHTTP_HEADER)
	$(AM_V_CC)$(MKDIR_P) src/http && $(LLHTTP_COMPILE) $(LLHTTP_SOURCE_DIR)/http.c
src/http/llhttp_llhttp.o: $(LLHTTP_SOURCE_DIR)/llhttp.c $(LLHTTP_HEADER)
	$(AM_V_CC)$(MKDIR_P) src/http && $(LLHTTP_COMPILE) $(LLHTTP_SOURCE_DIR)/llhttp.c

if LLHTTP_SSE42
LLHTTP_NAMES = src/http/llhttp_sse42_names.h
LLHTTP_COMPILE_SSE42 = $(LLHTTP_COMPILE) -msse4.2 -include $(LLHTTP_NAMES)
CLEANFILES += $(LLHTTP_NAMES)

src_http_libhttp_a_LIBADD += src/http/llhttp_sse42_api.o src/http/llhttp_sse42_http.o src/http/llhttp_sse42_llhttp.o

$(LLHTTP_NAMES): $(LLHTTP_SOURCE_DIR)/api.c $(LLHTTP_SOURCE_DIR)/http.c $(LLHTTP_SOURCE_DIR)/llhttp.c $(LLHTTP_HEADER)
	$(AM_V_GEN)$(MKDIR_P) src/http && cat $(LLHTTP_SOURCE_DIR)/*.c $(LLHTTP_HEADER) | tr -cs 'A-Za-z0-9_' '\n' | \
		sed -n 's/^llhttp_.*/#define & sse42_&/p' | LC_ALL=C sort -u >$@.new && mv $@.new $@
src/http/llhttp_sse42_api.o: $(LLHTTP_SOURCE_DIR)/api.c $(LLHTTP_NAMES)
	$(AM_V_CC)$(LLHTTP_COMPILE_SSE42) $(LLHTTP_SOURCE_DIR)/api.c
src/http/llhttp_sse42_http.o: $(LLHTTP_SOURCE_DIR)/http.c $(LLHTTP_NAMES)
	$(AM_V_CC)$(LLHTTP_COMPILE_SSE42) $(LLHTTP_SOURCE_DIR)/http.c
src/http/llhttp_sse42_llhttp.o: $(LLHTTP_SOURCE_DIR)/llhttp.c $(LLHTTP_NAMES)
	$(AM_V_CC)$(LLHTTP_COMPILE_SSE42) $(LLHTTP_SOURCE_DIR)/llhttp.c
endif
endif
