/* What the service manager and the machine see of the process: readiness, pid file, user. Control thread. */
#ifndef APP_SERVICE_H
#define APP_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Sends assignments such as "READY=1\nSTATUS=..." to the socket that NOTIFY_SOCKET names; nothing when it is unset. A
 * service manager that does not answer is not waited for. */
void service_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The pid file's lock, not its number, says whether an instance runs. Returns the locked descriptor, or a negative
 * errno; -EEXIST: another instance holds it. */
int pid_file_open(const char *path);
/* Removes the file and gives up the lock. */
void pid_file_close(int *fd, const char *path);
/* The pid of the instance that holds the file's lock; 0: none runs; a negative errno. */
int pid_file_owner(const char *path);

/* Becomes `user` (NULL: mlserve if it exists) when started as root. false: `error` says why. *ret_stays_root is set
 * when there is nobody to become. */
bool service_drop_privileges(const char *user, bool *ret_stays_root, char *error, size_t error_bytes);
/* Whether there is a user of that name. */
bool service_user_exists(const char *user);

#endif
