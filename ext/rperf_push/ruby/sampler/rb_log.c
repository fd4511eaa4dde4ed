/* rb_log.c - passes log lines of the core to Ruby's logger. */
#include "sampler/rb_log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/stats.h"
#include "vm/rb_jobs.h"

#define LINES_MAX 32u

typedef struct line {
    rpp_log_level level;
    char text[RPP_LOG_LINE_MAX];
} line;

static VALUE logger = Qnil;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* under lock */
static line ring[LINES_MAX];
static unsigned first, count;

static bool take_line(line *into)
{
    pthread_mutex_lock(&lock);
    bool some = count > 0;
    if (some) {
        *into = ring[first];
        first = (first + 1) % LINES_MAX;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return some;
}

static VALUE hand_over(VALUE argument)
{
    static const char *const methods[] = {[RPP_LOG_INFO] = "info", [RPP_LOG_WARN] = "warn", [RPP_LOG_ERROR] = "error"};
    const line *l = (const line *)argument;
    return rb_funcall(logger, rb_intern(methods[l->level]), 1, rb_utf8_str_new_cstr(l->text));
}

/* A logger that raises must not disturb the application; the line then goes to standard error. */
static VALUE print_instead(VALUE argument, VALUE error)
{
    fprintf(stderr, "%s\n", ((const line *)argument)->text);
    return Qnil;
}

/* An exception other than StandardError is not the logger's (a Timeout, the thread's end) and is passed on. */
void rb_rpp_log_flush(void)
{
    line l;
    while (!NIL_P(logger) && take_line(&l)) {
        rb_rescue2(hand_over, (VALUE)&l, print_instead, (VALUE)&l, rb_eStandardError, (VALUE)0);
    }
}

static VALUE logging_thread(void *unused)
{
    rb_rpp_log_flush();
    return Qnil;
}

static VALUE start_logging_thread(VALUE unused)
{
    return rb_thread_create(logging_thread, NULL);
}

static void drain_in_job(void)
{
    int failed = 0;
    rb_protect(start_logging_thread, Qnil, &failed);
    if (failed) rb_set_errinfo(Qnil); /* no thread could start: the lines wait for the next one */
}

static void keep_line(rpp_log_level level, const char *text, void *unused)
{
    pthread_mutex_lock(&lock);
    if (count == LINES_MAX) {
        first = (first + 1) % LINES_MAX;
        count--;
        rpp_stats_add(RPP_STAT_log_lines_dropped, 1);
    }
    line *l = &ring[(first + count++) % LINES_MAX];
    l->level = level;
    snprintf(l->text, sizeof l->text, "%s", text);
    pthread_mutex_unlock(&lock);
    rb_rpp_jobs_request(RB_RPP_REQUEST_LOG, drain_in_job);
}

void rb_rpp_log_to(VALUE target)
{
    logger = target;
    rpp_log_set_sink(NIL_P(target) ? NULL : keep_line, NULL);
}

static void discard_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    first = count = 0;
    rpp_log_discard_after_fork();
}

const rb_rpp_participant rb_rpp_log_participant = {.discard_after_fork = discard_after_fork};

void rb_rpp_log_init(void)
{
    rb_gc_register_address(&logger);
}
