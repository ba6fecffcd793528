/* MUST: an assertion that stays in release builds. For our own bugs only; never for input, memory or the kernel. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define MUST(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__, __func__))

/* Prints what failed to stderr and aborts. Any thread. */
void check_failed(const char *condition, const char *file, int line, const char *function)
        __attribute__((noreturn, cold));

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
