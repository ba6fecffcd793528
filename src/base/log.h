/*
 * The error log: one line a call, written whole by one system call, from any thread.
 * A sink that is full or stuck costs lines (counted and said later), never a thread's time.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Before other threads start. `path` NULL: stderr. Returns 0 or a negative errno (then stderr stays the sink). */
int log_open(const char *path, enum log_level level);
/* The same, to the syslog daemon on the datagram socket of that name (LOG_SYSLOG_PATH): facility daemon, ident mlserve.
 * Lines for which there is no daemon go to stderr. */
#define LOG_SYSLOG_PATH "/dev/log"
int log_open_syslog(const char *path, enum log_level level);
void log_close(void);
void log_set_level(enum log_level level);

/* Any thread. The line gets a stamp and the level; control bytes in it are escaped. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
