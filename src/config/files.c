/* Opening files, and finding those to include. */
#include "config/files.h"
#include "base/fd.h"
#include "config/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file that was read, so that none is read twice by another name. */
struct seen {
	struct seen *next;
	dev_t device;
	ino_t inode;
};

struct files {
	struct draft *draft;
	struct seen *seen;
};

static void add_seen(struct files *f, const struct stat *status)
{
	struct seen *seen = arena_alloc(f->draft->arena, sizeof *seen);
	if (!seen) {
		f->draft->exhausted = true;
		return;
	}
	*seen = (struct seen){f->seen, status->st_dev, status->st_ino};
	f->seen = seen;
}

static bool was_seen(const struct files *f, const struct stat *status)
{
	for (const struct seen *s = f->seen; s; s = s->next)
		if (s->device == status->st_dev && s->inode == status->st_ino)
			return true;
	return false;
}

static void refuse(struct files *f, const struct draft_entry *include, const char *path, const char *wrong)
{
	if (include)
		faults_add(f->draft->faults, include->place.file, include->place.line, "server", "include", "%s: %s",
		        path, wrong);
	else
		faults_add(f->draft->faults, path, 0, NULL, NULL, "%s", wrong);
}

/* NULL, or why a file of that mode is not read. The main one may come from a program, as in -c <(generator). */
static const char *unfit(mode_t mode, bool is_main)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NULL;
	case S_IFDIR:
		return "is a directory; allowed: a file";
	case S_IFIFO:
		return is_main ? NULL : "is a pipe; allowed: a regular file";
	case S_IFSOCK:
		return "is a socket; allowed: a file";
	default:
		return "is a device; allowed: a file";
	}
}

/* Looked at before it is opened, as to open a device may do something, and a pipe without a writer may hold us up for
 * ever. NULL: *ret_wrong says why. */
static FILE *open_file(const char *path, bool is_main, struct stat *status, const char **ret_wrong)
{
	*ret_wrong = NULL;
	if (stat(path, status) < 0 || (*ret_wrong = unfit(status->st_mode, is_main)))
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!file) {
		fd_close(&fd);
		return NULL;
	}
	if (fstat(fd, status) == 0 && !(*ret_wrong = unfit(status->st_mode, is_main)))
		return file;
	int error = errno;
	fclose(file);
	errno = error;
	return NULL;
}

/* A writer may be just about to open the pipe: it is given a moment. From its first byte on we wait for it as long as
 * it takes. false: there is none, or it wrote nothing. */
static bool await_writer(FILE *pipe)
{
	enum { PATIENCE_MS = 1000 };
	struct pollfd ready = {fileno(pipe), POLLIN, 0};
	poll(&ready, 1, PATIENCE_MS);
	fcntl(ready.fd, F_SETFL, 0); /* a read that finds no writer ends at once all the same */
	int first = getc(pipe);
	if (first == EOF)
		return false;
	ungetc(first, pipe);
	return true;
}

/* `include` NULL: the main file. */
static void read_file(struct files *f, const char *path, const struct draft_entry *include)
{
	struct stat status;
	const char *wrong;
	FILE *file = open_file(path, !include, &status, &wrong);
	if (!file && !wrong) {
		char text[200];
		snprintf(text, sizeof text, "cannot be opened: %s", strerror(errno));
		refuse(f, include, path, text);
	} else if (!file) {
		refuse(f, include, path, wrong);
	} else if (S_ISFIFO(status.st_mode) && !await_writer(file)) {
		refuse(f, include, path,
		        "is a pipe into which nobody writes; allowed: a file, or a pipe with a writer");
	} else if (was_seen(f, &status)) {
		refuse(f, include, path, "was read already; allowed: each file once");
	} else {
		add_seen(f, &status);
		reader_read(f->draft, file, path);
	}
	if (file)
		fclose(file);
}

/* The directory of the main file goes in front; what is special to glob in it is not meant so. */
static char *full_pattern(struct files *f, const char *main_file, const char *pattern)
{
	const char *slash = strrchr(main_file, '/');
	size_t length = pattern[0] == '/' || !slash ? 0 : (size_t)(slash - main_file) + 1;
	char *full = arena_alloc(f->draft->arena, 2 * length + strlen(pattern) + 1);
	if (!full)
		return NULL;
	char *end = full;
	for (size_t i = 0; i < length; i++) {
		if (strchr("*?[\\", main_file[i]))
			*end++ = '\\';
		*end++ = main_file[i];
	}
	strcpy(end, pattern);
	return full;
}

static void read_matches(struct files *f, const glob_t *matches, const struct draft_entry *include)
{
	for (size_t i = 0; i < matches->gl_pathc; i++) {
		char *path = arena_text(f->draft->arena, slice_of(matches->gl_pathv[i]));
		if (path)
			read_file(f, path, include);
		else
			f->draft->exhausted = true;
	}
}

/* glob's verdict on a directory: one that is not there has no matches. */
static int is_fatal(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

static void read_included(struct files *f, const char *main_file, const struct draft_entry *include)
{
	glob_t matches = {0};
	char *pattern = full_pattern(f, main_file, include->value);
	if (!pattern) {
		f->draft->exhausted = true;
		return;
	}
	int result = glob(pattern, 0, is_fatal, &matches);
	if (result == 0)
		read_matches(f, &matches, include);
	else if (result == GLOB_NOSPACE)
		f->draft->exhausted = true;
	else if (result == GLOB_ABORTED)
		refuse(f, include, include->value, "a directory in it cannot be read");
	else if (!strpbrk(include->value, "*?["))
		refuse(f, include, include->value,
		        "there is no such file; allowed: a file, or a pattern such as conf.d/*.ini");
	globfree(&matches);
}

/* A kind without a name, so that there is one unless it was repeated, which is a fault anyway. */
static void read_all_included(struct files *f, const char *main_file)
{
	const struct draft_section *server = draft_find_section(f->draft, CONFIG_SERVER, SLICE_NONE);
	for (const struct draft_entry *e = server ? server->first : NULL; e; e = e->next)
		if (strcmp(e->key, "include") == 0 && e->value && *e->value)
			read_included(f, main_file, e);
}

static void refuse_includes(struct draft *draft, const char *allowed_file, const char *wrong)
{
	for (const struct draft_section *s = draft->first; s; s = s->next) {
		if (s->kind != CONFIG_SERVER || (allowed_file && strcmp(s->place.file, allowed_file) == 0))
			continue;
		for (const struct draft_entry *e = s->first; e; e = e->next)
			if (strcmp(e->key, "include") == 0 && e->value && *e->value)
				faults_add(
				        draft->faults, e->place.file, e->place.line, s->title, "include", "%s", wrong);
	}
}

void files_read(struct draft *draft, const char *path)
{
	struct files f = {draft, NULL};
	read_file(&f, path, NULL);
	read_all_included(&f, path);
	refuse_includes(draft, path, "stands in an included file; allowed: in the main file");
}

void files_refuse_includes(struct draft *draft)
{
	refuse_includes(draft, NULL, "there is no directory to begin from; allowed: in a file");
}
