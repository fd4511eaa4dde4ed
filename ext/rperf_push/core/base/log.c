/* log.c - log lines from any thread. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define PREFIX        "[rperf-push] "
#define PREFIX_LENGTH (sizeof PREFIX - 1)

static void write_to_stderr(rpp_log_level level, const char *line, void *context)
{
    (void)level;
    (void)context;
    char out[RPP_LOG_LINE_MAX + 1];
    size_t length = strlen(line);
    memcpy(out, line, length);
    out[length] = '\n';
    /* One call, so that lines of several processes do not mix. If standard error is closed, there is no other place to
     * log. */
    if (write(STDERR_FILENO, out, length + 1) < 0) return;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    rpp_log_sink write;
    void *context;
} sink = {write_to_stderr, NULL}; /* under lock */

void rpp_log_set_sink(rpp_log_sink write_line, void *context)
{
    pthread_mutex_lock(&lock);
    sink.write = write_line ? write_line : write_to_stderr;
    sink.context = write_line ? context : NULL;
    pthread_mutex_unlock(&lock);
}

void rpp_log(rpp_log_level level, const char *format, ...)
{
    /* 4 bytes more than a line: a character that begins in the line is then complete, and the cut falls between
     * characters. */
    char text[RPP_LOG_LINE_MAX + 4];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (wanted < 0) return;

    char line[RPP_LOG_LINE_MAX] = PREFIX;
    size_t length = rpp_utf8_copy(line + PREFIX_LENGTH, sizeof line - 1 - PREFIX_LENGTH, text, strlen(text));
    rpp_utf8_one_line(line + PREFIX_LENGTH, length);
    line[PREFIX_LENGTH + length] = '\0';

    pthread_mutex_lock(&lock);
    rpp_log_sink write_line = sink.write;
    void *context = sink.context;
    pthread_mutex_unlock(&lock);
    write_line(level, line, context);
}

void rpp_log_discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
